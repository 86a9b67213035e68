"""Replays -> what peppi (by peppi-py) reads of them, as a stream for examples/parity.rs.

Lines of text, and after a line `column NAME TYPE COUNT` the values in little-endian bytes. Of a
frame that a rollback repeats the last one counts; where a character is absent the values are 0.
"""

import dataclasses
import enum
import io
import json
import sys
import zlib

import pyarrow as pa
import pyarrow.compute as pc

PRE = {
    "random_seed": "random_seed", "state": "action", "position.x": "x", "position.y": "y", "direction": "facing",
    "joystick.x": "stick_x", "joystick.y": "stick_y", "cstick.x": "c_stick_x", "cstick.y": "c_stick_y",
    "triggers": "trigger", "buttons": "buttons", "buttons_physical": "physical_buttons",
    "triggers_physical.l": "physical_l", "triggers_physical.r": "physical_r", "raw_analog_x": "raw_stick_x",
    "percent": "percent", "raw_analog_y": "raw_stick_y", "raw_analog_cstick_x": "raw_c_stick_x",
    "raw_analog_cstick_y": "raw_c_stick_y",
}
POST = {
    "character": "character", "state": "action", "position.x": "x", "position.y": "y", "direction": "facing",
    "percent": "percent", "shield": "shield", "last_attack_landed": "last_attack_landed", "combo_count": "combo_count",
    "last_hit_by": "last_hit_by", "stocks": "stocks", "state_age": "action_age", "state_flags.0": "state_bits_1",
    "state_flags.1": "state_bits_2", "state_flags.2": "state_bits_3", "state_flags.3": "state_bits_4",
    "state_flags.4": "state_bits_5", "misc_as": "action_number", "airborne": "airborne", "ground": "last_ground",
    "jumps": "jumps", "l_cancel": "l_cancel", "hurtbox_state": "hurtbox", "velocities.self_x_air": "speed_x_air",
    "velocities.self_y": "speed_y", "velocities.knockback_x": "knockback_x", "velocities.knockback_y": "knockback_y",
    "velocities.self_x_ground": "speed_x_ground", "hitlag": "hitlag", "animation_index": "animation",
    "last_hit_by_instance": "last_hit_by_instance", "instance_id": "instance",
}
ITEM = {
    "type": "kind", "state": "state", "direction": "facing", "velocity.x": "speed_x", "velocity.y": "speed_y",
    "position.x": "x", "position.y": "y", "damage": "damage", "timer": "timer", "id": "id", "misc.0": "missile",
    "misc.1": "turnip", "misc.2": "launched", "misc.3": "charge", "owner": "owner", "instance_id": "instance",
}
START = {"random_seed": "random_seed", "scene_frame_counter": "scene_frame"}
END = {"latest_finalized_frame": "latest_finalized_frame"}
LISTS = {
    "item": ("items", ITEM),
    "fod_platform": ("platforms", {"platform": "platform", "height": "height"}),
    "dreamland_whispy": ("wind", {"direction": "direction"}),
    "stadium_transformation": ("transformations", {"event": "event", "type": "stage"}),
}
TYPES = {"uint8": "u8", "int8": "i8", "uint16": "u16", "uint32": "u32", "int32": "i32", "float": "f32"}
WIDTHS = {"u8": 1, "i8": 1, "u16": 2, "u32": 4, "i32": 4, "f32": 4}

out = sys.stdout.buffer


def line(text):
    out.write(text.encode() + b"\n")


def column(name, values, rows=None, valid=None):
    if rows is not None:
        values = values.take(rows)
    if valid is not None:
        values = pc.if_else(valid, values, pa.scalar(0, values.type))
    values = pc.fill_null(values, 0)
    kind = TYPES[str(values.type)]
    width = WIDTHS[kind]
    line(f"column {name} {kind} {len(values)}")
    if len(values):
        buffer = values.buffers()[1].to_pybytes()
        out.write(buffer[values.offset * width : (values.offset + len(values)) * width])


def field(struct, path):
    for part in path.split("."):
        if struct.type.get_field_index(part) < 0:
            return None
        struct = struct.field(part)
    return struct


def columns(prefix, struct, names, rows=None, valid=None):
    for theirs, ours in names.items():
        values = field(struct, theirs)
        if values is not None:
            column(f"{prefix}/{ours}", values, rows, valid)


def listed(prefix, values, names, rows):
    flat, offsets, begin = [], [0], values.offsets.to_pylist()
    for row in rows.to_pylist():
        flat.extend(range(begin[row], begin[row + 1]))
        offsets.append(len(flat))
    column(f"{prefix}/offsets", pa.array(offsets, pa.uint32()))
    columns(prefix, values.values, names, pa.array(flat, pa.int64()))


def plain(value):
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def replay(path):
    from peppi_py import _peppi, read_slippi

    try:
        game = _peppi.read_slippi(path, skip_frames=False)
        whole = read_slippi(path, skip_frames=True)
    except BaseException as error:
        line("error " + str(error).replace("\n", " "))
        return
    line("start " + json.dumps(plain(whole.start)))
    line("end " + json.dumps(plain(whole.end)))
    line("metadata " + json.dumps(game.metadata))
    frames = game.frames
    ids = frames.field("id").to_pylist()
    last = {frame: row for row, frame in enumerate(ids)}
    rows = pa.array([last[frame] for frame in sorted(last)], pa.int64())
    line(f"rollbacks {len(ids) - len(last)}")
    column("id", frames.field("id"), rows)
    ports = frames.field("ports")
    for port in range(4):
        if ports.type.get_field_index(f"P{port + 1}") < 0:
            continue
        for who in ["leader", "follower"]:
            character = field(ports, f"P{port + 1}.{who}")
            if character is None:
                continue
            valid = character.is_valid().take(rows)
            prefix = f"{port + 1}/{who}"
            column(f"{prefix}/present", valid.cast(pa.uint8()))
            columns(f"{prefix}/pre", character.field("pre"), PRE, rows, valid)
            columns(f"{prefix}/post", character.field("post"), POST, rows, valid)
    for theirs, ours, names in [("start", "frame_start", START), ("end", "frame_end", END)]:
        part = field(frames, theirs)
        if part is not None:
            columns(ours, part, names, rows)
    for theirs, (ours, names) in LISTS.items():
        part = field(frames, theirs)
        if part is not None:
            listed(ours, part, names, rows)


def parsed_elsewhere(path):
    """slippi-ai's own parse of a game: a zlib stream around Parquet."""
    import pyarrow.parquet as parquet

    with open(path, "rb") as file:
        table = parquet.read_table(io.BytesIO(zlib.decompress(file.read())))
    root = table.column("root").combine_chunks()

    def walk(struct, prefix):
        for number in range(struct.type.num_fields):
            name = struct.type.field(number).name
            child = struct.field(number)
            if pa.types.is_struct(child.type):
                walk(child, f"{prefix}{name}.")
            else:
                values = child.cast(pa.uint8()) if pa.types.is_boolean(child.type) else child
                column(prefix + name, values)

    walk(root, "")


for path in sys.argv[1:]:
    line("file " + path)
    if path.endswith(".zlib"):
        parsed_elsewhere(path)
    else:
        replay(path)
    line("done")
out.flush()
