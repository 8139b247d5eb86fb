"""weakly: know how good weak labels are before you pay for them."""
