"""A trained model as a file that answers elsewhere: ONNX, torch.export, or the folder that transformers.js reads.

An exported file predicts and cannot be taught: it holds no photo and nothing that further learning would need.
"""

from classgrow.export.onnx_file import write_onnx
from classgrow.export.result import Exported
from classgrow.export.torch_file import write_torch
from classgrow.export.transformers_folder import write_transformers

__all__ = ["Exported", "write_onnx", "write_torch", "write_transformers"]
