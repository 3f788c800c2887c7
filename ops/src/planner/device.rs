//! The coefficients of a device in the model.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The arithmetic of a product, by which multiprocessors differ in speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub(crate) enum Math {
    /// f16 and bf16.
    Half,
    Tf32,
    /// i8 and floats of 8 bits.
    Byte,
    /// f32 fused multiply-adds.
    F32,
    /// 3xTF32 of a B that programs decompose.
    Tf32x3,
    /// 3xTF32 of decomposed operands.
    DecomposedTf32x3,
    /// f16 by a B of 8 bits.
    MixedInput,
    /// f32 fused multiply-adds of a row by a matrix.
    Gemv,
}

/// Speeds of a device. Times are microseconds, rates are per microsecond.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeviceModel {
    pub launch: f32,
    /// A launch of clusters, beside that.
    pub cluster: f32,
    /// Bytes of device memory.
    pub memory: f32,
    /// Bytes of device memory that a multiprocessor moves, where few of them do.
    pub memory_per_sm: f32,
    /// Bytes that a multiprocessor loads from the L2 cache.
    pub l2_per_sm: f32,
    /// The same where rows do not start at multiples of a sector.
    pub l2_unsectored_per_sm: f32,
    /// Bytes that a multiprocessor stores.
    pub store_per_sm: f32,
    /// Partial sums: semaphores and a further trip to the L2 cache.
    pub partials: f32,
    /// Bytes of partial sums that one program adds up.
    pub reduced_per_program: f32,
    /// How much longer a step takes for each byte that a thread spills.
    pub spilled: f32,
    /// A launch of a copy in front of a kernel, beside its bytes; of one that decomposes; and of a transposition
    /// behind.
    pub copy: f32,
    pub decomposition: f32,
    pub transposition: f32,
    /// Bytes that a copy reads and writes.
    pub copied: f32,
    pub gemm: GemmModels,
    pub rows: RowsModel,
    pub attention: AttentionModel,
    /// How much longer kernels with a configuration take than the terms say, by [`key`](super::cost::key): registers,
    /// bank conflicts, and all effects without a term of their own. 1 if the map has no entry.
    #[serde(default)]
    pub configurations: BTreeMap<String, f32>,
}

/// Of each arithmetic.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GemmModels {
    pub half: GemmModel,
    pub tf32: GemmModel,
    pub byte: GemmModel,
    pub f32: GemmModel,
    pub tf32x3: GemmModel,
    pub decomposed_tf32x3: GemmModel,
    pub mixed_input: GemmModel,
    pub gemv: GemmModel,
}

impl GemmModels {
    pub fn of(&self, math: Math) -> &GemmModel {
        match math {
            Math::Half => &self.half,
            Math::Tf32 => &self.tf32,
            Math::Byte => &self.byte,
            Math::F32 => &self.f32,
            Math::Tf32x3 => &self.tf32x3,
            Math::DecomposedTf32x3 => &self.decomposed_tf32x3,
            Math::MixedInput => &self.mixed_input,
            Math::Gemv => &self.gemv,
        }
    }
}

/// Speeds of attention on a multiprocessor. Pairs are of kernels that use TMA and warpgroups, and of others.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AttentionModel {
    /// Operations of multiply-adds.
    pub rate: [f32; 2],
    /// Of a score: its exponential and the operations beside it.
    pub exponential: [f32; 2],
    /// Of a block of keys of one program: products and exponentials that wait for each other.
    pub latency: [f32; 2],
    /// How much of the work of a lone program comes on top of that.
    pub alone: [f32; 2],
    /// Of a program, once.
    pub fill: [f32; 2],
    /// Of a block of queries, once.
    pub block: [f32; 2],
    /// Partial sums of programs that share keys: semaphores, and a trip to the L2 cache.
    pub partials: f32,
    /// Of the rows of partial sums that a program loads at a time.
    pub combined_rows: f32,
    /// Bytes of device memory.
    pub memory: f32,
}

/// Speeds of kernels that go over rows. They reach more of the device memory's bandwidth than products do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsModel {
    /// Of a program, once.
    pub program: f32,
    /// Between the starts of two programs on a multiprocessor, however many it has room for.
    pub start: f32,
    /// Of a tile: loads and reductions.
    pub latency: f32,
    /// Of an element on a multiprocessor.
    pub element: f32,
    /// The same where elements are loaded one by one.
    pub element_unaligned: f32,
    /// How much longer elements of tiles of several rows take: loaded in vectors, and one by one.
    pub several_rows: [f32; 2],
    /// Of an element of a thread.
    pub element_of_thread: f32,
    /// Of an exchange between lanes.
    pub exchange: f32,
    /// The share of bytes that a second reading takes from device memory.
    pub again: f32,
    pub launch: f32,
    /// Bytes of device memory.
    pub memory: f32,
}

/// Speeds of a multiprocessor by arithmetic. Pairs are of kernels that use TMA and warpgroups, and of others.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GemmModel {
    /// Operations of long instructions.
    pub rate: [f32; 2],
    /// Columns of an instruction that halve the rate.
    pub short: f32,
    /// Of a step: by TMA, by vectors, by words or double words, by elements.
    pub latency: [f32; 4],
    /// The work of a warp's threads in each step beside loads and multiply-adds: addresses, masks, a barrier. With TMA
    /// there is none.
    pub step_of_warp: f32,
    /// Of the pipeline, once for each program.
    pub fill: [f32; 2],
    /// Of an element that is loaded by itself: on a multiprocessor, and in a thread.
    pub element: f32,
    pub element_of_thread: f32,
    /// Of a word of 4 bytes, or a double word, that is loaded by one access: on a multiprocessor.
    pub word: f32,
    /// How much longer elements take that are read by strides.
    pub strided: f32,
    /// Of a tile, once.
    pub tile: f32,
    /// How much longer loads of MN-major operands take.
    pub mn_major: f32,
    /// The share of a last round of programs, where it is not full, that is saved: programs of a round do not end at
    /// once, and the last ones have more of the bandwidth.
    pub last_round: f32,
    /// How much longer multiply-adds of a lone warpgroup take.
    pub lone: f32,
    /// Of an element that is stored by itself.
    pub store_element: [f32; 2],
    /// The additional time of an element that is the only one of its sector of the L2 cache.
    pub store_strided: f32,
    /// Of an element of a thread's part of a tile: stored in vectors, and one by one.
    pub store_of_thread: [f32; 2],
}

impl DeviceModel {
    /// How much longer a kernel with a configuration takes than the terms say.
    pub fn of_configuration(&self, key: &str) -> f32 {
        self.configurations.get(key).copied().unwrap_or(1.0)
    }

    /// All coefficients of terms, in the order of the fields' names.
    pub(super) fn coefficients(&self) -> Vec<f32> {
        fn visit(v: &serde_json::Value, out: &mut Vec<f32>) {
            match v {
                serde_json::Value::Object(all) => all.values().for_each(|v| visit(v, out)),
                serde_json::Value::Array(all) => all.iter().for_each(|v| visit(v, out)),
                v => out.push(v.as_f64().unwrap_or(f64::NAN) as f32),
            }
        }
        let mut out = vec![];
        visit(&self.value(), &mut out);
        out
    }

    /// The same model with other coefficients, as many.
    pub(super) fn with_coefficients(&self, new: &[f32]) -> DeviceModel {
        fn visit(v: &mut serde_json::Value, new: &mut impl Iterator<Item = f32>) {
            match v {
                serde_json::Value::Object(all) => all.values_mut().for_each(|v| visit(v, new)),
                serde_json::Value::Array(all) => all.iter_mut().for_each(|v| visit(v, new)),
                v => *v = new.next().expect("as many").into(),
            }
        }
        let mut value = self.value();
        visit(&mut value, &mut new.iter().copied());
        let model: DeviceModel = serde_json::from_value(value).expect("the same fields");
        DeviceModel { configurations: self.configurations.clone(), ..model }
    }

    fn value(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(self).expect("numbers");
        value.as_object_mut().and_then(|fields| fields.remove("configurations"));
        value
    }
}
