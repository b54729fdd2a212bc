"""Check the built site: links and anchors inside it, and that a page fetches nothing from elsewhere.

With --browser, headless Chromium also opens every page, wide and narrow, light and dark. The check reports messages of
its console, pages that are wider than the window and pictures that do not load. Pictures of the main pages go
to build/site-pictures/.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SITE, PICTURES = ROOT / "build" / "site", ROOT / "build" / "site-pictures"
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src"}  # when a page is shown
SHOWN = (
    "index.html",
    "start/when.html",
    "gallery/index.html",
    "gallery/plot_3_tracking.html",
    "gallery/points_on_a_gpu.html",
    "howto/migrate.html",
    "methods.html",
    "explanation/comparison.html",
    "explanation/benchmarks.html",
    "reference/python.html",
    "reference/generated/lapwing.solve.html",
)
REMARKS = ("[PST]:", "Got invalid theme mode")  # of the theme, when nobody has yet chosen light or dark
SIZES = {"wide": (1400, 1000), "narrow": (420, 900)}
SCHEMES = ("light", "dark")
SEEN = "every page was seen"
# Shows one page after the other, each in a frame of its own; the errors of a frame reach the same console.
FRAMES = """<!doctype html><body><script>
const look = async (page) => {
  const frame = document.createElement("iframe");
  frame.style = "border: 0; width: WIDTHpx; height: HEIGHTpx";
  const loaded = new Promise((done) => (frame.onload = done));
  frame.src = page;
  document.body.append(frame);
  await loaded;
  await new Promise((done) => setTimeout(done, 50));
  const shown = frame.contentDocument.documentElement;
  const beyond = shown.scrollWidth - shown.clientWidth;
  if (beyond > 0) console.error(`${page} is ${beyond} px wider than the window`);
  for (const picture of frame.contentDocument.images)
    if (picture.complete && !picture.naturalWidth) console.error(`${page} lacks ${picture.src}`);
  frame.remove();
};
(async () => {
  for (const page of PAGES) await look(page);
  console.error("SEEN");
})();
</script>"""


class Page(HTMLParser):
    """The anchors of a page, its links, and what it fetches."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one element."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in FETCHED and FETCHED[tag] in values:
            self.fetched.append(values[FETCHED[tag]])
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload", "modulepreload"):
            self.fetched.append(values.get("href", ""))


def problems_of(site: Path) -> Iterator[str]:
    """Yield a message for every broken link and every fetch from elsewhere."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for url in page.fetched:
            if urlsplit(url).netloc:
                yield f"{name} fetches {url}"
        for url in {*page.links, *page.fetched}:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{name}: {url} leads nowhere"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{name}: there is no anchor {url}"


def seen_in_browser(site: Path) -> Iterator[str]:
    """Yield what Chromium says of any page; write pictures of the pages shown."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    pages = sorted(path.resolve().as_uri() for path in site.rglob("*.html") if "_static" not in path.parts)
    for name, size in SIZES.items():
        for scheme in SCHEMES:
            lines = _in_frames(pages, size, scheme)
            if not any(SEEN in line for line in lines):
                yield f"{name}, {scheme}: Chromium did not come to the last page"
            yield from (f"{name}, {scheme}: {line}" for line in lines if SEEN not in line)
            for page in SHOWN:
                picture = PICTURES / f"{page.replace('/', '-').removesuffix('.html')}-{name}-{scheme}.png"
                _chromium(site / page, size, scheme, picture)


def _in_frames(pages: list[str], size: tuple[int, int], scheme: str) -> list[str]:
    words = {"WIDTH": str(size[0]), "HEIGHT": str(size[1]), "PAGES": json.dumps(pages), "SEEN": SEEN}
    text = FRAMES
    for word, value in words.items():
        text = text.replace(word, value)
    with tempfile.TemporaryDirectory() as folder:
        frames = Path(folder) / "frames.html"
        frames.write_text(text, encoding="utf-8")
        return _chromium(frames, (size[0] + 100, size[1] + 100), scheme, Path(folder) / "frames.png")


def _chromium(page: Path, size: tuple[int, int], scheme: str, picture: Path) -> list[str]:
    """Write a picture of a page; return what the console said, but for the theme's remarks."""
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        options += ["--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", "--hide-scrollbars"]
        options += ["--enable-logging=stderr", f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}"]
        options += ["--allow-file-access-from-files", "--virtual-time-budget=300000"]
        if scheme == "dark":
            options.append("--blink-settings=preferredColorScheme=0")
        command = ["chromium", *options, page.resolve().as_uri()]
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lines = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    return [line for line in lines if not any(remark in line for remark in REMARKS)]


def main() -> int:
    """Print what is wrong; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--browser", action="store_true", help="also open every page in Chromium")
    options = parser.parse_args()
    problems = list(problems_of(SITE))
    if options.browser:
        problems += seen_in_browser(SITE)
    print("\n".join(problems) or "site: links and anchors lead somewhere, and nothing is fetched from elsewhere")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
