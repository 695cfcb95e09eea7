"""A film on disk, written as it comes: H.264 in MP4, or VP9 in WebM where there is no x264.

Written in fragments of half a second, so that whatever is there when the program is killed can be
played. `seal` writes it once more without encoding it again, with its title and its chapters.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from PIL import Image

FRAME_RATE = 30
_KEY = 1
"""FFmpeg's AV_PICTURE_TYPE_I."""
_STAYS_FRAMES = FRAME_RATE // 3
_FRAGMENT_MS = 500
"""What is lost at most when the program is killed."""


@dataclass(frozen=True, slots=True)
class Codec:
    """An encoder of FFmpeg, and the container that its film goes into."""

    name: str
    suffix: str
    options: dict[str, str]
    container: dict[str, str]
    """Of the muxer while the film grows."""

    @property
    def format(self) -> str:
        """FFmpeg's name of the container."""
        return self.suffix.removeprefix(".")


H264 = Codec(
    "libx264",
    ".mp4",
    # The fastest preset, with what makes it smaller at little cost: 60 % of the time of `veryfast`
    # for 1.3 times its size, measured on a film of the demo shop. No B-frames: with them the length
    # of a fragmented file is told wrongly.
    {
        "preset": "ultrafast",
        "x264-params": "cabac=1:8x8dct=1:aq-mode=1",
        "crf": "19",
        "bf": "0",
        "g": str(10 * FRAME_RATE),
    },
    {
        "movflags": "empty_moov+default_base_moof",
        "frag_duration": str(_FRAGMENT_MS * 1000),
        "flush_packets": "1",
    },
)
VP9 = Codec(
    "libvpx-vp9",
    ".webm",
    {
        "deadline": "realtime",
        "cpu-used": "8",
        "crf": "28",
        "b": "0",
        "lag-in-frames": "0",
        "g": str(10 * FRAME_RATE),
    },
    {"flush_packets": "1", "cluster_time_limit": str(_FRAGMENT_MS)},
)
CODECS = (H264, VP9)
"""Best first."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of a film with a name."""

    from_ms: int
    to_ms: int
    title: str


def find_codec(codecs: Sequence[Codec] = CODECS) -> Codec:
    """The first of them that the installed FFmpeg can encode with. Raises: `ValueError`."""
    av: Any = import_module("av")
    for codec in codecs:
        try:
            av.codec.Codec(codec.name, "w")
        except (av.error.FFmpegError, ValueError):
            continue
        return codec
    raise ValueError(f"the installed av encodes with none of {', '.join(c.name for c in codecs)}")


class _Sink:
    """A file to which FFmpeg can write whatever happens; what happened is in `trouble`.

    FFmpeg's muxers crash the process when one goes on after a failed write (tried with a full
    disk), so they never hear of one."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        self.trouble: OSError | None = None
        self._file: IO[bytes] = path.open("wb")

    def write(self, data: bytes) -> int:
        """Write at once."""
        return self._tried(data, lambda: self._file.write(data))

    def close(self) -> None:
        """End the file. Raises: the `OSError` that was kept back."""
        try:
            self._file.close()
        except OSError as exc:
            self.trouble = self.trouble or exc
        if self.trouble is not None:
            raise self.trouble

    def _tried(self, data: bytes, write: Callable[[], object]) -> int:
        if self.trouble is None:
            try:
                write()
                self._file.flush()
            except OSError as exc:
                self.trouble = exc
        return len(data)


class _SeekableSink(_Sink):
    """One whose beginning is written last."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._at = 0
        self._end = 0

    def write(self, data: bytes) -> int:
        """Write where it is now."""
        at = self._at
        self._at += len(data)
        self._end = max(self._end, self._at)
        return self._tried(data, lambda: (self._file.seek(at), self._file.write(data)))

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go on elsewhere."""
        self._at = offset + (0, self._at, self._end)[whence]
        return self._at

    def tell(self) -> int:
        """Where it is now."""
        return self._at


class FilmFile:
    """A film of constant rate that grows with each picture; used from one thread."""

    def __init__(self, path: Path, size: tuple[int, int], codec: Codec) -> None:
        self._av: Any = import_module("av")
        self.path = path
        self.frames = 0
        self._sink = _Sink(path)
        self._container: Any = self._av.open(
            self._sink, "w", format=codec.format, options=dict(codec.container)
        )
        stream: Any = self._container.add_stream(codec.name, rate=FRAME_RATE)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.options = dict(codec.options)
        # One thread: the other cores belong to the model.
        stream.codec_context.thread_count = 1
        # 1 is BT.709, which players take for granted at this size.
        stream.codec_context.colorspace = 1
        stream.codec_context.color_primaries = 1
        stream.codec_context.color_trc = 1
        self._stream = stream
        self._shown: Any = None

    def write(self, picture: Image.Image, count: int = 1) -> None:
        """Show `picture`, RGB and of the film's size, for `count` frames."""
        for _ in self.writing(picture, count):
            continue

    def writing(self, picture: Image.Image, count: int = 1) -> Generator[None]:
        """`write` in steps of a frame each."""
        frame: Any = self._av.VideoFrame.from_image(picture)
        self._shown = frame.reformat(
            format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG"
        )
        # What stays is a key frame: sharp, found at once, and what a GIF's colours are taken from.
        for number in range(count):
            self._hold(1, key=not number and count >= _STAYS_FRAMES)
            yield

    def hold(self, count: int) -> None:
        """Show the last picture for `count` frames more."""
        self._hold(count, key=False)

    def _hold(self, count: int, *, key: bool) -> None:
        for number in range(count):
            self._shown.pts = self.frames
            self._shown.time_base = Fraction(1, FRAME_RATE)
            self._shown.pict_type = _KEY if key and not number else 0
            self._mux(self._stream.encode(self._shown))
            self.frames += 1

    def close(self) -> None:
        """Write what is still in the encoder, and the end of the file. Raises: `OSError`."""
        try:
            if self._shown is not None:
                self._mux(self._stream.encode())
        finally:
            self._container.close()
            self._sink.close()

    def _mux(self, packets: Sequence[Any]) -> None:
        for packet in packets:
            self._container.mux(packet)
        if self._sink.trouble is not None:
            raise self._sink.trouble


@contextmanager
def _sealed(path: Path, codec: Codec, film: Path) -> Generator[Any]:
    """The container of a sealed film, whose index has room at its beginning."""
    av: Any = import_module("av")
    with av.open(str(film)) as source:
        frames = sum(1 for _ in source.demux(source.streams.video[0]))
    options = {"moov_size": str(100_000 + 40 * frames)} if codec is H264 else {}
    with closing(_SeekableSink(path)) as sink:
        with av.open(sink, "w", format=codec.format, options=options) as target:
            yield target


def seal(path: Path, codec: Codec, title: str, chapters: Sequence[Chapter]) -> None:
    """Give a film its title and chapters, and its index at the front where the container has one.

    Whole or not at all. Raises: `OSError`, among them FFmpeg's own."""
    av: Any = import_module("av")
    unfinished = path.with_name(f"{path.stem}.unsealed{path.suffix}")
    try:
        with av.open(str(path)) as source, _sealed(unfinished, codec, path) as target:
            stream = source.streams.video[0]
            copy = target.add_stream_from_template(stream)
            target.metadata["title"] = title
            target.set_chapters(
                [
                    {
                        "id": number,
                        "start": chapter.from_ms,
                        "end": chapter.to_ms,
                        "time_base": Fraction(1, 1000),
                        "metadata": {"title": chapter.title},
                    }
                    for number, chapter in enumerate(chapters)
                ]
            )
            for packet in source.demux(stream):
                if packet.dts is not None:
                    packet.stream = copy
                    target.mux(packet)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
