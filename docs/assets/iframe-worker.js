/* Lets the search work on pages opened as files: browsers start no Worker from there, so it runs in a hidden frame. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const room = this.frame.contentWindow;
      room.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = room.document.createElement("script");
      script.src = url;
      script.onload = () => {
        this.waiting.forEach((data) => this.deliver(data));
        this.waiting = null;
      };
      room.document.body.appendChild(script);
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.deliver(data);
    }

    deliver(data) {
      const room = this.frame.contentWindow;
      room.dispatchEvent(new room.MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
