"""What the installed frameworks are and see; as a program, it asks them and prints JSON.

The program runs in a child process: importing TensorFlow takes seconds and starts CUDA. It imports
nothing of ours, so that it runs in any Python.
"""

import importlib
import json
import os
import sys

# Whose versions are compared with each other.
PACKAGES = (
    *("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tensorflow-rocm", "keras", "tf-keras"),
    *("numpy", "protobuf", "jax", "jaxlib", "torch", "ml-dtypes"),
)
# What a build with CUDA opens at run time; the major version of cuDNN is its own.
_LIBRARIES = ("libcudnn.so.{cudnn}", "libcublas.so.{cuda}", "libcudart.so.{cuda}")


def versions() -> dict[str, str]:
    """Return the installed packages of `PACKAGES` with their versions."""
    import importlib.metadata  # loads much, and this module is loaded into watched scripts

    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def tensorflow_facts(tensorflow) -> dict[str, object]:  # type: ignore[no-untyped-def]
    """Return the build of a TensorFlow that is loaded, and the devices it sees."""
    devices = tensorflow.config.list_physical_devices()
    build = tensorflow.sysconfig.get_build_info()
    is_cuda = bool(build.get("is_cuda_build"))
    facts = {
        "tensorflow_devices": [[d.device_type, d.name] for d in devices],
        "tensorflow_visible": [d.name for d in tensorflow.config.get_visible_devices()],
        "tensorflow_version": tensorflow.__version__,
        "tensorflow_cuda_build": is_cuda,
        "tensorflow_rocm_build": bool(build.get("is_rocm_build")),
    }
    if is_cuda:
        sees_gpu = any(device.device_type == "GPU" for device in devices)
        facts["tensorflow_build"] = {
            "cuda": str(build.get("cuda_version") or ""),
            "cudnn": str(build.get("cudnn_version") or ""),
            "capabilities": [str(one) for one in build.get("cuda_compute_capabilities") or ()],
            "missing": [] if sees_gpu else _missing_libraries(build),
        }
    return facts


def _missing_libraries(build) -> list[str]:  # type: ignore[no-untyped-def]
    """Return the libraries of CUDA that neither the system nor a package of NVIDIA's has."""
    import ctypes

    majors = {
        "cuda": str(build.get("cuda_version") or "").partition(".")[0],
        "cudnn": str(build.get("cudnn_version") or "").partition(".")[0],
    }
    if not all(majors.values()):
        return []
    missing = []
    for pattern in _LIBRARIES:
        name = pattern.format(**majors)
        packages = (os.path.join(folder, "nvidia") for folder in sys.path)
        if any(_has_file(folder, name) for folder in packages):
            continue
        try:
            ctypes.CDLL(name)
        except OSError:
            missing.append(name)
    return missing


def _has_file(folder: str, name: str) -> bool:
    """Tell whether a package of NVIDIA's has a library."""
    try:
        packages = os.listdir(folder)
    except OSError:
        return False
    return any(
        file.startswith(name)
        for package in packages
        if os.path.isdir(os.path.join(folder, package, "lib"))
        for file in os.listdir(os.path.join(folder, package, "lib"))
    )


def ask(name: str) -> dict[str, object]:
    """Import a framework and return what it sees; `error` where it cannot be imported."""
    try:
        module = importlib.import_module(name)
        if name == "tensorflow":
            return tensorflow_facts(module)
        if name == "jax":
            seen = [str(device.platform) for device in module.devices()]
        else:
            seen = ["gpu"] * int(module.cuda.device_count())
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in it is the answer
        return {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    return {f"{name}_devices": seen}


if __name__ == "__main__":
    wanted = sys.argv[1]
    answer = {"versions": versions()} if wanted == "versions" else ask(wanted)
    print(json.dumps(answer))
