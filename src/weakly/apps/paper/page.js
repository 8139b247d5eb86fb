const chosen = { verdict: '', category: '' }, word = document.querySelector('.filter input');
const claims = [...document.querySelectorAll('.claim')], shown = document.querySelector('.filter output');
function filter() {
  const text = word.value.toLowerCase(); let n = 0;
  for (const claim of claims) {
    const fits = Object.entries(chosen).every(([key, value]) => !value || claim.dataset[key] === value);
    claim.hidden = !(fits && claim.textContent.toLowerCase().includes(text)); n += !claim.hidden;
  }
  shown.textContent = `${n} of ${claims.length}`;
}
for (const button of document.querySelectorAll('.filter button')) button.onclick = () => {
  const { key, value } = button.dataset; chosen[key] = chosen[key] === value ? '' : value;
  for (const other of document.querySelectorAll(`.filter button[data-key=${key}]`))
    other.setAttribute('aria-pressed', String(chosen[key] === other.dataset.value));
  filter();
};
word.oninput = filter; filter();
