"""Prints the processor time of a step of training in PyTorch, for the networks of src/bin/steps.rs.

python steps.py [STEPS] [NETWORK ...], on one thread: forward, loss, backward, clipping by the global
norm, AdamW (fused). Recurrent layers are PyTorch's own, attention is its fused function.
"""

import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)
STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
CHOSEN = sys.argv[2:]
WINDOWS, FRAMES = 32, 32
PLAIN, TABLES, EMBEDDING, RESIDUAL = 44, [(399, 2), (33, 2)], 16, 64
CLASSES = [2] * 8 + [17] * 4 + [5]
INPUTS = PLAIN + EMBEDDING * sum(count for _, count in TABLES)


class Attention(nn.Module):
    def __init__(self, hidden=128, heads=4, window=32, feed_forward=256):
        super().__init__()
        self.heads, self.window = heads, window
        self.norm_1, self.norm_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.distance = nn.Parameter(torch.zeros(heads, window))
        self.output = nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, feed_forward), nn.Linear(feed_forward, hidden)
        ago = torch.arange(FRAMES)[:, None] - torch.arange(FRAMES)[None, :]
        self.register_buffer("ago", ago.clamp(0, window - 1))
        self.register_buffer("hidden_pairs", (ago < 0) | (ago >= window))

    def forward(self, x):
        frames, windows, hidden = x.shape
        parts = self.query_key_value(self.norm_1(x)).chunk(3, 2)
        q, k, v = (p.view(frames, windows, self.heads, -1).permute(1, 2, 0, 3) for p in parts)
        bias = self.distance[:, self.ago].masked_fill(self.hidden_pairs, -1e9)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias[None])
        x = x + self.output(y.permute(2, 0, 1, 3).reshape(frames, windows, hidden))
        return x + self.down(F.relu(self.up(self.norm_2(x))))


class Network(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.tables = nn.ModuleList(nn.Embedding(rows, EMBEDDING) for rows, _ in TABLES)
        hidden = 128
        if kind in ("gru", "lstm"):
            self.backbone = (nn.GRU if kind == "gru" else nn.LSTM)(INPUTS, hidden)
        elif kind == "attention":
            layers = [nn.Linear(INPUTS, hidden), Attention(), Attention(), nn.LayerNorm(hidden)]
            self.backbone = nn.Sequential(*layers)
        else:
            hidden = 256
            layers = [nn.Linear(INPUTS, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()]
            self.backbone = nn.Sequential(*layers)
        self.first = nn.Linear(hidden, RESIDUAL)
        self.heads = nn.ModuleList(nn.Linear(RESIDUAL, n) for n in CLASSES)
        self.conditions = nn.ModuleList(nn.Embedding(n, RESIDUAL) for n in CLASSES[:-1])

    def forward(self, plain, numbers, targets):
        found = [t(n) for t, columns in zip(self.tables, numbers) for n in columns]
        x = self.backbone(torch.cat([plain, *found], 2))
        rho = self.first(x[0] if self.kind in ("gru", "lstm") else x).view(FRAMES * WINDOWS, -1)
        loss = 0.0
        for component, head in enumerate(self.heads):
            loss = loss + F.cross_entropy(head(F.relu(rho)), targets[component])
            if component < len(self.conditions):
                rho = rho + self.conditions[component](targets[component])
        return loss


print("| network | parameters | ms a step (median) | least | steps a processor second |")
print("|---|---|---|---|---|")
for kind in ["gru", "lstm", "attention", "mlp"]:
    if CHOSEN and kind not in CHOSEN:
        continue
    network = Network(kind)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)
    plain = torch.rand(FRAMES, WINDOWS, PLAIN) * 2 - 1
    numbers = [[torch.randint(rows, (FRAMES, WINDOWS)) for _ in range(n)] for rows, n in TABLES]
    targets = [torch.randint(n, (FRAMES * WINDOWS,)) for n in CLASSES]
    times = []
    for step in range(STEPS + 5):
        begin = time.process_time_ns()
        optimiser.zero_grad(set_to_none=True)
        network(plain, numbers, targets).backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        if step >= 5:
            times.append((time.process_time_ns() - begin) / 1e6)
    times.sort()
    median, count = times[len(times) // 2], sum(p.numel() for p in network.parameters())
    print(f"| {kind} | {count} | {median:.2f} | {times[0]:.2f} | {1e3 / median:.1f} |", flush=True)
