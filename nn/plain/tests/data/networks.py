"""Writes networks.json: small networks and their outputs by PyTorch in f64, for tests/networks.rs.

python networks.py > networks.json
Weights are multiples of 1/64, so that both sides read the same numbers. Recurrent layers are
torch.nn.GRU and torch.nn.LSTM, attention is scaled_dot_product_attention with a mask of distances,
the convolution is conv1d by channels; only the selective scan's recurrence is a loop.
"""

import json

import torch
import torch.nn.functional as F

torch.manual_seed(20261126)
torch.set_default_dtype(torch.float64)
FRAMES, EMBEDDING, RESIDUAL = 9, 2, 5
AXIS, TRIGGER = 3, 4
CLASSES = [2] * 8 + [AXIS] * 4 + [TRIGGER]
NUMBERS = ["own.x", "own.facing", "opponent.y"]
TABLES = {"own.action": 399, "opponent.character": 33, "own.character": 33}


def fill(shape, scale=1.0):
    return torch.round(torch.randn(shape) * scale * 64) / 64


def affine(tensors, name, inputs, outputs, bias=True):
    tensors[f"{name}.weight"] = fill([inputs, outputs], 0.5)
    if bias:
        tensors[f"{name}.bias"] = fill([outputs], 0.3)


def norm(tensors, name, width):
    tensors[f"{name}.scale"] = 1 + fill([width], 0.3)
    tensors[f"{name}.shift"] = fill([width], 0.3)


def apply_affine(tensors, name, x):
    bias = tensors.get(f"{name}.bias")
    return F.linear(x, tensors[f"{name}.weight"].T, bias)


def apply_norm(tensors, name, x):
    scale, shift = tensors[f"{name}.scale"], tensors[f"{name}.shift"]
    return F.layer_norm(x, [x.shape[-1]], scale, shift, eps=1e-5)


def mlp(tensors, u, hidden, layers):
    x = u
    for layer in range(layers):
        name = f"backbone.layers.{layer}"
        affine(tensors, name, x.shape[1], hidden)
        x = F.relu(apply_affine(tensors, name, x))
    return x


def recurrent(kind, tensors, u, hidden, layers):
    gates, module = {"gru": (3, torch.nn.GRU), "lstm": (4, torch.nn.LSTM)}[kind]
    net = module(u.shape[1], hidden, num_layers=layers)
    for layer in range(layers):
        name = f"backbone.layers.{layer}"
        inputs = u.shape[1] if layer == 0 else hidden
        affine(tensors, f"{name}.input", inputs, gates * hidden)
        affine(tensors, f"{name}.recurrent", hidden, gates * hidden, kind == "gru")
        with torch.no_grad():
            getattr(net, f"weight_ih_l{layer}").copy_(tensors[f"{name}.input.weight"].T)
            getattr(net, f"bias_ih_l{layer}").copy_(tensors[f"{name}.input.bias"])
            getattr(net, f"weight_hh_l{layer}").copy_(tensors[f"{name}.recurrent.weight"].T)
            bias = tensors.get(f"{name}.recurrent.bias", torch.zeros(gates * hidden))
            getattr(net, f"bias_hh_l{layer}").copy_(bias)
    return net(u)[0]


def attention(tensors, u, hidden, layers, heads, window, feed_forward):
    affine(tensors, "backbone.input", u.shape[1], hidden)
    x = apply_affine(tensors, "backbone.input", u)
    split = lambda a: a.reshape(FRAMES, heads, hidden // heads).transpose(0, 1)
    t = torch.arange(FRAMES)
    apart = t[:, None] - t[None, :]
    seen = (apart >= 0) & (apart < window)
    for layer in range(layers):
        name = f"backbone.layers.{layer}"
        norm(tensors, f"{name}.norm_1", hidden)
        affine(tensors, f"{name}.query_key_value", hidden, 3 * hidden)
        tensors[f"{name}.distance"] = fill([heads, window])
        affine(tensors, f"{name}.output", hidden, hidden)
        norm(tensors, f"{name}.norm_2", hidden)
        affine(tensors, f"{name}.up", hidden, feed_forward)
        affine(tensors, f"{name}.down", feed_forward, hidden)
        parts = apply_affine(tensors, f"{name}.query_key_value", apply_norm(tensors, f"{name}.norm_1", x))
        bias = tensors[f"{name}.distance"][:, apart.clamp(0, window - 1)]
        mask = torch.where(seen, bias, -torch.inf)
        q, k, v = (split(part) for part in parts.chunk(3, 1))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + apply_affine(tensors, f"{name}.output", y.transpose(0, 1).reshape(FRAMES, hidden))
        up = F.relu(apply_affine(tensors, f"{name}.up", apply_norm(tensors, f"{name}.norm_2", x)))
        x = x + apply_affine(tensors, f"{name}.down", up)
    norm(tensors, "backbone.norm", hidden)
    return apply_norm(tensors, "backbone.norm", x)


def selective_scan(tensors, u, hidden, layers, state, expand, convolution, rank):
    inner = expand * hidden
    affine(tensors, "backbone.input", u.shape[1], hidden)
    x = apply_affine(tensors, "backbone.input", u)
    for layer in range(layers):
        name = f"backbone.layers.{layer}"
        norm(tensors, f"{name}.norm", hidden)
        affine(tensors, f"{name}.input", hidden, 2 * inner, False)
        affine(tensors, f"{name}.convolution", convolution, inner)
        affine(tensors, f"{name}.selection", inner, rank + 2 * state, False)
        affine(tensors, f"{name}.step", rank, inner)
        tensors[f"{name}.log_decay"] = fill([inner, state], 0.5)
        tensors[f"{name}.skip"] = fill([inner])
        affine(tensors, f"{name}.output", inner, hidden, False)
        p, g = apply_affine(tensors, f"{name}.input", apply_norm(tensors, f"{name}.norm", x)).chunk(2, 1)
        weight = tensors[f"{name}.convolution.weight"].T[:, None, :]
        padded = F.pad(p.T[None], (convolution - 1, 0))
        c = F.silu(F.conv1d(padded, weight, tensors[f"{name}.convolution.bias"], groups=inner)[0].T)
        low, b, out = apply_affine(tensors, f"{name}.selection", c).split([rank, state, state], 1)
        delta = F.softplus(apply_affine(tensors, f"{name}.step", low))
        decay = -torch.exp(tensors[f"{name}.log_decay"])
        s, y = torch.zeros(inner, state), []
        for t in range(FRAMES):
            s = torch.exp(delta[t][:, None] * decay) * s + torch.outer(delta[t] * c[t], b[t])
            y.append(s @ out[t] + tensors[f"{name}.skip"] * c[t])
        x = x + apply_affine(tensors, f"{name}.output", torch.stack(y) * F.silu(g))
    norm(tensors, "backbone.norm", hidden)
    return apply_norm(tensors, "backbone.norm", x)


def case(kind, sizes, names, is_autoregressive=True):
    tensors = {}
    tables = [name for name in names if name in TABLES]
    rows = sorted({TABLES[name] for name in tables})
    for k, count in enumerate(rows):
        tensors[f"embedding.{k}"] = fill([count, EMBEDDING])
    columns = {n: torch.randint(0, TABLES[n], [FRAMES]) if n in TABLES else fill([FRAMES]) for n in names}
    parts = [columns[n][:, None] for n in names if n not in TABLES]
    parts += [F.embedding(columns[n], tensors[f"embedding.{rows.index(TABLES[n])}"]) for n in tables]
    u = torch.cat(parts, 1)
    if kind in ("gru", "lstm"):
        trunk = recurrent(kind, tensors, u, **sizes)
    else:
        trunk = globals()[kind](tensors, u, **sizes)
    affine(tensors, "heads.input", sizes["hidden"], RESIDUAL)
    rho = apply_affine(tensors, "heads.input", trunk)
    classes = torch.stack([torch.randint(0, n, [FRAMES]) for n in CLASSES], 1)
    logits = []
    for c, count in enumerate(CLASSES):
        affine(tensors, f"heads.output.{c}", RESIDUAL, count)
        logits.append(apply_affine(tensors, f"heads.output.{c}", F.relu(rho)))
        if is_autoregressive and c < 12:
            tensors[f"heads.embedding.{c}"] = fill([count, RESIDUAL])
            rho = rho + F.embedding(classes[:, c], tensors[f"heads.embedding.{c}"])
    whole = lambda tensor: [round(x * 64) for x in tensor.flatten().tolist()]
    limit = lambda n: f"{n} * 1 in [-400, 400]"
    return {
        "backbone": {"kind": kind, **sizes},
        "heads": "autoregressive" if is_autoregressive else "independent",
        "schema": "".join(limit(n) + "\n" for n in names),
        "tensors_64": {n: {"shape": list(t.shape), "values": whole(t)} for n, t in tensors.items()},
        "features": torch.stack([columns[n].double() for n in names], 1).flatten().tolist(),
        "classes": classes.tolist(),
        "trunk": trunk.tolist(),
        "logits": torch.cat(logits, 1).tolist(),
    }


with torch.no_grad():
    few = [NUMBERS[0], "opponent.character", NUMBERS[1], "own.character", NUMBERS[2]]
    scan = {"state": 3, "expand": 2, "convolution": 4, "rank": 2}
    cases = [
        case("mlp", {"hidden": 4, "layers": 2}, few, False),
        case("gru", {"hidden": 4, "layers": 2}, ["own.action", *few]),
        case("lstm", {"hidden": 4, "layers": 2}, few),
        case("attention", {"hidden": 6, "layers": 2, "heads": 2, "window": 4, "feed_forward": 5}, few),
        case("selective_scan", {"hidden": 4, "layers": 2, **scan}, few),
    ]
print(json.dumps({
    "torch": torch.__version__, "embedding": EMBEDDING, "residual": RESIDUAL,
    "axis": AXIS, "trigger": TRIGGER, "cases": cases,
}))
