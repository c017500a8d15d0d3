// A dropped or chosen picture: checked, shown small, and handed on as base64.
import { element } from "/static/page-parts.js";

const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"];
const LARGEST = 5_000_000; // bytes, as the server allows

async function encoded(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let k = 0; k < bytes.length; k += 32768) binary += String.fromCharCode(...bytes.subarray(k, k + 32768));
  return btoa(binary);
}

export function pictures(section, { able, taken, left, tell }) {
  const by = (id) => document.getElementById(id);
  const form = section.querySelector("form");
  let shown = null;

  function show(file) {
    if (shown) URL.revokeObjectURL(shown.src);
    shown?.remove();
    shown = file && element("img", { src: URL.createObjectURL(file), alt: `The picture ${file.name}` });
    if (shown) {
      // A file that is not a picture has nothing to show; the answer says what is wrong with it.
      shown.addEventListener("error", (event) => event.target.remove());
      by("picture").prepend(shown);
    }
    by("picture").hidden = !file;
    by("picture-name").textContent = file ? file.name : "";
    form.classList.toggle("with-picture", Boolean(file));
  }

  async function take(files) {
    const file = files[0];
    if (!file) return;
    if (!able) return tell("No model for pictures is served. Start with: accredit serve --model FOLDER");
    if (!file.size) return tell(`${file.name} is empty; drop a file that holds a picture.`);
    if (!KINDS.includes(file.type)) return tell(`${file.name} is not a picture that this page can read; drop a PNG, JPEG, GIF, WEBP or BMP.`);
    if (file.size > LARGEST) return tell(`${file.name} has ${(file.size / 1e6).toFixed(1)} MB; pictures of up to 5 MB are read.`);
    const data = await encoded(file);
    show(file);
    taken(data, file, files.length > 1 ? `Of ${files.length} files, the first is explained.` : "");
  }

  const carries = (event) => event.dataTransfer?.types.includes("Files"); // dropped text goes where it was dropped
  section.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    form.classList.add("dropping");
  });
  section.addEventListener("dragleave", (event) => section.contains(event.relatedTarget) || form.classList.remove("dropping"));
  section.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    form.classList.remove("dropping");
    take([...event.dataTransfer.files]);
  });
  by("image").addEventListener("change", (event) => {
    take([...event.target.files]);
    event.target.value = ""; // the same file may be chosen again
  });
  by("picture-away").addEventListener("click", () => {
    show(null);
    left();
  });
  return { show, forget: () => show(null) };
}
