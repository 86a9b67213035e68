"""Prints the time of one action in PyTorch, for the rows of latency.rs that PyTorch has as layers.

python latency.py [ACTIONS], on one thread: one step of the recurrent layer with its state carried,
then 13 heads in turn, each drawn from its softmax. Features are not computed and not embedded.
"""

import sys
import time

import torch

torch.set_num_threads(1)
ACTIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
INPUTS, RESIDUAL, CLASSES = 44 + 4 * 16, 64, [2] * 8 + [17] * 4 + [5]

print("| backbone | CPU p50 | CPU p99.9 | wall p50 | wall p99.9 |\n|---|---|---|---|---|")
with torch.inference_mode():
    for kind, hidden in [(torch.nn.GRU, 128), (torch.nn.GRU, 480), (torch.nn.LSTM, 416)]:
        layer = kind(INPUTS, hidden)
        first = torch.nn.Linear(hidden, RESIDUAL)
        heads = [torch.nn.Linear(RESIDUAL, n) for n in CLASSES]
        rows = [torch.randn(n, RESIDUAL) for n in CLASSES]
        state, cpu, wall = None, [], []
        for action in range(ACTIONS + 100):
            x = torch.randn(1, INPUTS)
            begin, begin_wall = time.thread_time_ns(), time.perf_counter_ns()
            h, state = layer(x, state)
            rho = first(h[0])
            for head, row in zip(heads, rows):
                chosen = torch.multinomial(torch.softmax(head(torch.relu(rho)), 0), 1)
                rho = rho + row[int(chosen)]
            end, end_wall = time.thread_time_ns(), time.perf_counter_ns()
            if action >= 100:
                cpu.append((end - begin) / 1000)
                wall.append((end_wall - begin_wall) / 1000)
        numbers = []
        for times in (sorted(cpu), sorted(wall)):
            numbers += [times[round((ACTIONS - 1) * share)] for share in (0.5, 0.999)]
        print(f"| {kind.__name__} {hidden} | " + " | ".join(f"{n:.1f}" for n in numbers) + " |")
