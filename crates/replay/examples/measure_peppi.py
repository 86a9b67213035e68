"""Files under a folder -> frames a second of peppi through peppi-py, in processor time, as a line of JSON."""

import json
import pathlib
import sys
import time

from peppi_py import _peppi

ROUNDS = 3
folder = pathlib.Path(sys.argv[1])
best = float("inf")
frames = files = refused = 0
for _ in range(ROUNDS):
    frames = files = refused = 0
    began = time.process_time()
    for path in sorted(folder.rglob("*.slp")):
        try:
            game = _peppi.read_slippi(str(path), skip_frames=False)
        except BaseException:
            refused += 1
            continue
        frames += len(game.frames)
        files += 1
    best = min(best, time.process_time() - began)
print(
    json.dumps(
        {
            "files": files,
            "refused": refused,
            "frames": frames,
            "seconds": round(best, 6),
            "million_frames_a_second": round(frames / best / 1e6, 3),
        }
    )
)
