// Opened from a folder (file://), browsers refuse workers, and the search is one: run it in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.documentElement.append(frame);
      const inside = frame.contentWindow;
      this.waiting = [];
      this.postMessage = (data) => this.waiting.push(data);
      inside.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.ready = () => {
        this.postMessage = (data) => inside.dispatchEvent(new inside.MessageEvent("message", { data }));
        this.waiting.forEach((data) => this.postMessage(data));
      };
      inside.document.open();
      inside.document.write(`<script>window.postMessage = window.answer</script><script src="${script}"></script><script>window.ready()</script>`);
      inside.document.close();
    }
    terminate() {}
  };
}
