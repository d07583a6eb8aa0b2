"""`classgrow serve`: a model of photos as a service, with a page to teach it in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from classgrow.cli.learn import ModelFolder

TOKEN_VARIABLE = "CLASSGROW_TOKEN"


def serve(
    model: ModelFolder,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8765,
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0: every one.")] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(envvar=TOKEN_VARIABLE, help="What writes need; default: made up and printed.")
    ] = None,
    public_read: Annotated[bool, typer.Option("--public-read", help="Predictions need no token.")] = False,
    names: Annotated[list[str] | None, typer.Option("--name", help="Another host name it is reached by.")] = None,
    tray: Annotated[int, typer.Option(min=0, max=10_000, help="Unknown photos to keep for naming; default none.")] = 0,
    batch: Annotated[int, typer.Option(min=1, max=256, help="Photos that go through the network together.")] = 32,
    preset: Annotated[
        str | None, typer.Option(help="For a new model: fast (default with the extra photos), balanced or best.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="For a new model: a method of `classgrow methods`.")] = None,
    network: Annotated[str | None, typer.Option(help="For a new model: the network.")] = None,
    memory: Annotated[int | None, typer.Option(help="For a new model: photos kept in all; default 2000.")] = None,
) -> None:
    """Answer for MODEL over HTTP, and teach it in the browser. MODEL need not exist yet."""
    import secrets

    from classgrow.cli.bars import shown
    from classgrow.errors import ClassgrowError
    from classgrow.photos.presets import Wish, plan_for

    try:
        from classgrow.serve.running import run
        from classgrow.serve.settings import Batching, Settings
    except ImportError as error:
        raise ClassgrowError("A service needs more libraries: pip install 'classgrow[serve]'.") from error
    wish = Wish(preset=preset, method=method, network=network, memory=memory)
    settings = Settings(
        model=model,
        token=secrets.token_urlsafe(24) if token is None else token,
        host=host,
        port=port,
        public_read=public_read,
        names=tuple(name.lower() for name in names or ()),
        tray=tray,
        wish=wish,
        batching=Batching(batch),
    )
    if not (settings.folder / "config.json").is_file():
        plan_for(wish)  # says what cannot be before the service starts
    run(settings, shown().say, show_link=token is None)
