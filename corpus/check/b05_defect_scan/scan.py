# EXPECT predict-in-loop file=classifier.py line=35
# NOTE the loop is here, the predict call in a method of classifier.py: only following the import shows that each image gets its own predict
# SEEN ran (rc 0), one predict per photo (30 of them)
"""Scan a folder of product photos and report those with a scratch."""
import argparse
import csv
import pathlib
import tempfile

from classifier import ScratchClassifier
from fake_photos import write_photos


def find_images(root: pathlib.Path):
    return sorted(p for p in root.rglob("*") if p.suffix.lower() in {".png", ".jpg"})


def scan(root, clf, threshold):
    rows = []
    for path in find_images(root):
        verdict = clf.classify(path)
        rows.append((path.name, verdict, verdict > threshold))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=pathlib.Path, default=None)
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--out", type=pathlib.Path, default=None)
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as tmp:
        folder = args.folder
        if folder is None:
            folder = pathlib.Path(tmp) / "photos"
            write_photos(folder, count=30)
        clf = ScratchClassifier(image_size=(32, 32))
        rows = scan(folder, clf, args.threshold)

        out = args.out or pathlib.Path(tmp) / "report.csv"
        with open(out, "w", newline="") as fh:
            writer = csv.writer(fh)
            writer.writerow(["file", "score", "scratched"])
            writer.writerows(rows)
        print(f"{len(rows)} photos, {sum(r[2] for r in rows)} scratched")


if __name__ == "__main__":
    main()
