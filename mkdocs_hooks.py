"""What `make docs` adds to docs/: pages that live elsewhere, notebooks, the API reference, files that pages link to.

Pages link to one another as they do in the repository; a link that leaves docs/ is turned to where its file lies in the
site.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import griffe
import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

import classgrow
from classgrow.cli import app

log = get_plugin_logger("hooks")
ROOT = Path(__file__).parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
NOTEBOOKS = {"examples/tutorial.ipynb": "tutorial.md", "examples/photos.ipynb": "photos_notebook.md"}
ELSEWHERE = "files"
"""Where the site keeps files from outside docs/ that its pages link to."""
FETCHED = re.compile(r"""<(?:script|link|img|iframe|source|video)\b[^>]*?(?:src|href)=["']?((?:https?:)?//[^"'\s>]+)""")
LINK = re.compile(r"(!?\[[^\]\[]*\])\(([^()\s#]+)(#[^()\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the sections of the navigation that begin with `DIR/index.md`."""
    pages = sorted([*method_pages(), *reference_pages()])
    for section in config.nav:
        for entries in section.values() if isinstance(section, dict) else ():
            folder, _, name = entries[0].partition("/")
            if name == "index.md":
                entries += [page for page in pages if page.startswith(f"{folder}/") and page not in entries]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the files outside docs/ that any page links to."""
    texts = {site: (ROOT / source).read_text(encoding="utf-8") for source, site in PAGES.items()}
    sources = {site: source for source, site in PAGES.items()}
    for file in files.documentation_pages():
        links = linked_files(f"docs/{file.src_uri}", file.content_string)
        add_files(files, config, links)
    for site, text in texts.items():
        add_files(files, config, linked_files(sources[site], text))
        files.append(File.generated(config, site, content=relinked(text, sources[site], site)))
    notebooks = {site: notebook(source, site) for source, site in NOTEBOOKS.items()}
    written = {**notebooks, "methods/index.md": methods_index(), **reference_pages()}
    for site, text in written.items():
        files.append(File.generated(config, site, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links of a page of docs/."""
    if page.file.generated_by is not None:
        return markdown
    return relinked(markdown, f"docs/{page.file.src_uri}", page.file.src_uri)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Pages are read offline: warn of what a browser would fetch from elsewhere."""
    for address in FETCHED.findall(output):
        log.warning("%s fetches %s: keep a copy in docs/assets.", page.file.src_uri, address)
    return output


# --- links -----------------------------------------------------------------------------------------------------------


def in_repository(source: str, target: str) -> str | None:
    """The path in the repository that `source` links to; None where there is no such file."""
    path = PurePosixPath(os.path.normpath(PurePosixPath(source).parent / target)).as_posix()
    return path if not path.startswith("..") and (ROOT / path).exists() else None


def in_site(path: str) -> str:
    """Where the site keeps a file of the repository."""
    if path in NOTEBOOKS:
        return NOTEBOOKS[path]
    if path.startswith("docs/"):
        inside = path.removeprefix("docs/")
        return f"{inside}/index.md" if (ROOT / path).is_dir() else inside
    return PAGES.get(path, f"{ELSEWHERE}/{path}")


def relinked(text: str, source: str, site: str) -> str:
    """`text` of the file `source`, with its links turned so that they hold from the page `site`."""

    def turned(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        path = in_repository(source, target)
        if path is None:
            return missing(match[0], words, source, target)
        relative = os.path.relpath(in_site(path), PurePosixPath(site).parent)
        return f"{words}({PurePosixPath(relative).as_posix()}{anchor})"

    return LINK.sub(turned, text)


def missing(link: str, words: str, source: str, target: str) -> str:
    """A link to no file stays, for the strict build to complain; a source distribution has no results to link to."""
    path = PurePosixPath(os.path.normpath(PurePosixPath(source).parent / target))
    lacking = path.parts[0] == "results" and not (ROOT / "results").exists()
    return words.lstrip("!").strip("[]") if lacking else link


def linked_files(source: str, text: str) -> Iterator[str]:
    """Files outside docs/ that a page links to and that are no pages of their own."""
    for _, target, _ in LINK.findall(text):
        path = in_repository(source, target)
        if path is not None and in_site(path).startswith(f"{ELSEWHERE}/") and (ROOT / path).is_file():
            yield path


def add_files(files: Files, config: MkDocsConfig, paths: Iterator[str]) -> None:
    for path in paths:
        site = in_site(path)
        if files.get_file_from_path(site) is None:
            file = File.generated(config, site, abs_src_path=str(ROOT / path), inclusion=InclusionLevel.NOT_IN_NAV)
            files.append(file)


# --- pages that are written here -------------------------------------------------------------------------------------


def notebook(source: str, site: str) -> str:
    """A notebook as a page: its text, its code and what the code printed or drew."""
    cells = json.loads((ROOT / source).read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(block for cell in cells for block in blocks(cell, source, site)) + "\n"


def blocks(cell: dict[str, Any], path: str, site: str) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield relinked(source, path, site)
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            yield f"![what the cell drew](data:image/png;base64,{''.join(data['image/png'].split())})"
        else:
            text = "".join(output.get("text", data.get("text/plain", "")))
            yield f"```text\n{text.rstrip()}\n```"


def method_pages() -> list[str]:
    return [f"methods/{path.name}" for path in (ROOT / "docs" / "methods").glob("*.md")]


def methods_index() -> str:
    """The cards with the paper each comes from."""
    rows = []
    for page in sorted(method_pages()):
        title, _, about = (ROOT / "docs" / page).read_text(encoding="utf-8").split("\n")[:3]
        rows.append(f"| [{title.removeprefix('# ')}]({Path(page).name}) | {about} |")
    return "\n".join(("# Methods", "", "| method | source |", "| --- | --- |", *rows, ""))


def reference_pages() -> dict[str, str]:
    """A page for the commands and one for each room of the package, each module by its docstrings."""
    package = griffe.load("classgrow", search_paths=[ROOT / "src"], try_relative_path=False)
    assert isinstance(package, griffe.Module)
    pages = {"reference/index.md": public_names(package), "reference/commands.md": commands()}
    for name, room in sorted(package.modules.items()):
        if name.startswith("_"):
            continue
        described = [f"::: {one.path}{hide_members(one)}" for one in modules_of(room) if has_content(one)]
        about = room.docstring.value if room.docstring and not has_content(room) else ""
        pages[f"reference/{name}.md"] = "\n\n".join((f"# {name}", about, *described)) + "\n"
    return pages


def modules_of(module: griffe.Module) -> Iterator[griffe.Module]:
    """The module and all below it."""
    yield module
    for name, one in sorted(module.modules.items()):
        if not name.startswith("_"):
            yield from modules_of(one)


def has_content(module: griffe.Module) -> bool:
    """Whether it defines something described; what it only passes on stands where it is defined."""
    return any(
        not name.startswith("_") and not member.is_alias and not member.is_module and member.docstring
        for name, member in module.members.items()
    )


def hide_members(module: griffe.Module) -> str:
    """Options for a package: its modules have entries of their own."""
    own = [name for name, member in module.members.items() if not (member.is_alias or member.is_module)]
    return f"\n    options:\n      members: {json.dumps(own)}" if module.is_package else ""


def public_names(package: griffe.Module) -> str:
    """What `from classgrow import ...` offers, with the first sentence of each."""
    rows = []
    for name in sorted(name for name in dir(classgrow) if not name.startswith("_")):
        member = package[name].final_target
        assert member.docstring is not None, f"{member.path} needs a docstring"
        rows.append(f"| [`{name}`][{member.path}] | {member.docstring.value.splitlines()[0]} |")
    text = "`from classgrow import ...` offers these names. Every room of the package has a page of its own."
    return "\n".join(("# API reference", "", text, "", "| name | |", "| --- | --- |", *rows, ""))


def commands() -> str:
    """The help of every command, as the shell prints it."""
    group = typer.main.get_command(app)
    context = group.make_context("classgrow", [], resilient_parsing=True)
    texts = ["# Commands"]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        help_text = command.get_help(type(context)(command, info_name=name, parent=context))
        texts.append(f"## classgrow {name}\n\n```text\n{help_text}\n```")
    return "\n\n".join(texts) + "\n"
