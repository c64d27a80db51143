"""The C extension: the functions of `_numpy.py`, which documents them."""

from collections.abc import Buffer, Callable

NAME: str

def key_range(src: Buffer, size: int, kind: int, /) -> tuple[int, int, int]: ...
def key_map(src: Buffer, size: int, kind: int, base: int, shift: int, width: int, out: Buffer, /) -> None: ...
def table_map(src: Buffer, size: int, kind: int, limit: int, keys: Buffer, ranks: Buffer, /) -> int: ...
def binary_step(src: Buffer, size: int, /) -> int: ...
def lattice_map(
    src: Buffer, size: int, arithmetic: int, s: float, o: float, d: float, out: Buffer, escapes: Buffer, limit: int, /
) -> tuple[int, int, int]: ...
def lattice_values(k: Buffer, out: Buffer, size: int, arithmetic: int, s: float, o: float, d: float, /) -> None: ...
def lattice_origins(
    u: Buffer, half: Buffer, k: Buffer, size: int, scale: float, first: float, count: int, offsets: Buffer, /
) -> tuple[int, int]: ...
def plane_cost(planes: Buffer, count: int, length: int, /) -> int: ...
def forward(
    k: Buffer, width: int, rows: int, columns: int, predictor: int, out: Buffer, ranked: bool, /
) -> tuple[int, int]: ...
def byte_delta(planes: Buffer, count: int, length: int, /) -> None: ...
def byte_sum(planes: Buffer, count: int, length: int, /) -> None: ...
def unpack_keys(
    planes: Buffer,
    count: int,
    width: int,
    rows: int,
    columns: int,
    predictor: int,
    out: Buffer,
    size: int,
    kind: int,
    base: int,
    shift: int,
    /,
) -> bool: ...
def unpack_table(
    planes: Buffer,
    count: int,
    width: int,
    rows: int,
    columns: int,
    predictor: int,
    out: Buffer,
    size: int,
    table: Buffer,
    /,
) -> bool: ...
def unpack_lattice(
    planes: Buffer,
    count: int,
    width: int,
    rows: int,
    columns: int,
    predictor: int,
    out: Buffer,
    size: int,
    arithmetic: int,
    s: float,
    o: float,
    d: float,
    base: int,
    /,
) -> bool: ...
def decode_block(
    block: Buffer, into: Buffer, dtype: int, zstd: Callable[..., Buffer], deflate: Callable[..., Buffer], /
) -> bool: ...
def use_avx2(wanted: bool, /) -> bool: ...
def mask_count(src: Buffer, size: int, pattern: int, /) -> int: ...
def mask_make(src: Buffer, size: int, pattern: int, bitmap: Buffer, /) -> int: ...
def mask_check(bitmap: Buffer, count: int, /) -> int: ...
def mask_fill(src: Buffer, size: int, bitmap: Buffer, out: Buffer, /) -> None: ...
def mask_compact(src: Buffer, size: int, bitmap: Buffer, out: Buffer, /) -> None: ...
def mask_put(out: Buffer, size: int, bitmap: Buffer, pattern: int, /) -> None: ...
def mask_spread(compact: Buffer, size: int, bitmap: Buffer, pattern: int, out: Buffer, /) -> None: ...
def raster_elements(
    node_x: Buffer,
    node_y: Buffer,
    element_nodes: Buffer,
    corners: int,
    x0: float,
    y0: float,
    dx: float,
    dy: float,
    rows: int,
    columns: int,
    into: Buffer,
    /,
) -> None: ...
