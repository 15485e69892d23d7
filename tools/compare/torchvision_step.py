#!/usr/bin/env python3
"""Step time and peak memory of torchvision's Mask R-CNN R50-FPN, to stand beside `tools/benchmark_step`.

Needs python3-torch, python3-torchvision and libopenblas0-openmp (Debian links reference BLAS otherwise, several times slower); nothing of Osprey needs this script. Same work as benchmark_step does:
forward, backward and an SGD step on 2 random 320x320 images with 8 boxes each, everything trainable, BN in training mode,
512 RoIs and 256 anchors an image, 2000 proposals.

Usage: OMP_NUM_THREADS=2 tools/compare/torchvision_step.py [--size 320] [--batch 2] [--steps 8]
"""
import argparse
import resource
import statistics
import time

import torch
import torchvision


def make_batch(generator, batch, size):
    images, targets = [], []
    for _ in range(batch):
        images.append(torch.rand(3, size, size, generator=generator))
        corner = torch.rand(8, 2, generator=generator) * size * 0.6
        extent = size * (0.1 + 0.3 * torch.rand(8, 2, generator=generator))
        boxes = torch.cat([corner, corner + extent], dim=1).clamp(max=size)
        masks = torch.zeros(8, size, size, dtype=torch.uint8)
        for mask, (x1, y1, x2, y2) in zip(masks, boxes.int().tolist()):
            mask[y1:y2, x1:x2] = 1
        labels = torch.randint(1, 81, (8,), generator=generator)
        targets.append({"boxes": boxes, "labels": labels, "masks": masks})
    return images, targets


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=320)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()

    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    model = torchvision.models.detection.maskrcnn_resnet50_fpn(
        weights=None, weights_backbone=None, num_classes=81, trainable_backbone_layers=5,
        min_size=args.size, max_size=args.size)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, weight_decay=1e-4)
    images, targets = make_batch(generator, args.batch, args.size)
    times = []
    for step in range(args.steps + 1):
        start = time.perf_counter()
        losses = model(images, targets)
        total = sum(losses.values())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        if step > 0:  # the first one allocates and compiles
            times.append(time.perf_counter() - start)
        print(f"step {step}: {time.perf_counter() - start:.3f} s, loss {total.item():.4f}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"torchvision: median step {statistics.median(times):.3f} s, peak memory {peak:.0f} MiB, "
          f"{torch.get_num_threads()} threads")


if __name__ == "__main__":
    main()
