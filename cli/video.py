"""`rlds-kit video`."""

from pathlib import Path

import click

import rlds_kit
from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text
from rlds_kit.cli.output import json_option, print_json, show
from rlds_kit.cli.replay import numbers_of


@click.command("video")
@click.argument("dataset", type=click.Path())
@click.option("--to", required=True, metavar="FILE|FOLDER", help="FILE.mp4, FILE.gif, or a folder for one MP4 each.")
@click.option("--episodes", metavar="NUMBERS", help="Numbers and ranges, as in 0,3:5,-1. By default all.")
@click.option("--field", metavar="PATH", help="Of the images, as in observation/pixels. By default the only one.")
@click.option("--fps", type=float, help="Frames a second. By default those of the dataset, or 30.")
@click.option("--scale", type=int, default=1, show_default=True, help="Pixels a side of each pixel, which stay sharp.")
@click.option("--white", type=float, help="The float that stands for white. By default the field's maximum, or 1.")
@click.option("--stacked", is_flag=True, help="Values are stacked frames: show the newest of each.")
@click.option("--captions", is_flag=True, help="Write step, action, reward and return under the pictures.")
@click.option("--grid", is_flag=True, help="Play all episodes side by side.")
@click.option("--lossless", is_flag=True, help="Keep every pixel of an MP4; fewer programs show such.")
@json_option
def video_command(  # noqa: PLR0913  one for each option
    dataset: str,
    *,
    to: str,
    episodes: str | None,
    field: str | None,
    fps: float | None,
    scale: int,
    white: float | None,
    stacked: bool,
    captions: bool,
    grid: bool,
    lossless: bool,
    as_json: bool,
) -> None:
    """Show episodes as MP4 or GIF.

    One file shows the episodes one after the other, or side by side with --grid. Existing files are not overwritten.
    If no images were recorded, the environment is made again and takes the recorded actions; each step is compared.

    \b
    rlds-kit video data/pong --to pong.mp4 --episodes 0,3:5 --scale 3 --captions
    rlds-kit video data/pong --to pong.gif --episodes 0:9 --grid --fps 15
    rlds-kit video data/robot --to videos --field observation/camera

    Exit codes: 0 done; 1 there is no dataset, it is damaged, or has no such images; 2 the command line is wrong.
    """  # noqa: D301  the backspace disables wrapping
    from rlds_kit.tools.video import write_video

    opened = rlds_kit.open(dataset)
    numbers = None if episodes is None else numbers_of(episodes, len(opened.episodes))
    with progress_bar("drawing", hidden=as_json) as progress:
        written = write_video(
            opened,
            Path(to),
            episodes=numbers,
            field=field,
            fps=fps,
            scale=scale,
            white=white,
            stacked=stacked,
            captions=captions,
            grid=grid,
            lossless=lossless,
            progress=progress,
        )
    if as_json:
        print_json({"videos": written})
        return
    for each in written:
        what = f"{count_text(len(each.episodes), 'episode')}, {count_text(each.frames, 'frame')}"
        again = ", drawn again" if each.is_drawn_again else ""
        show(f"{each.path}: {what}, {each.fps:g} a second{again}")
