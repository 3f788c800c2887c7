//! The output of `show` if a variant has a stage, has it not, or cannot be made.

use tilewright_compiler::{Libraries, Stage, Variant, show};

/// A product with so many warps.
fn shown(warps: usize, variant: &str, stage: Stage) -> Result<String, String> {
    let text = format!(
        "#[tile_kernel(tune(warps = [{warps}]), grid = [1])]
         pub fn product(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {{
             let mut acc = zeros::<f32>([64, 64]);
             for k in range(0, a.dim(1), 64) {{
                 acc = dot(a.tile([0, k], [64, 64]), b.tile([k, 0], [64, 64]), acc);
             }}
             c.store([0, 0], acc);
         }}"
    );
    let variant = Variant::all().find(|v| v.name() == variant).expect("a variant");
    show(text.as_str(), &Libraries::default(), "product", None, None, variant, stage)
}

#[test]
fn a_product_by_tma_has_every_stage() {
    for stage in Stage::ALL {
        assert!(shown(4, "tma", stage).is_ok_and(|text| text.len() > 100), "{}", stage.name());
    }
    assert_eq!(shown(4, "general", Stage::Cluster), Err("the variant `general` has no stage `cluster`".into()));
}

/// Also where the driver came by the stage before it failed. Stages that all variants share are shown.
#[test]
fn a_variant_that_cannot_be_made_is_not_shown() {
    for stage in Stage::ALL {
        let text = shown(2, "tma", stage);
        let is_shared = Stage::ALL.iter().position(|s| *s == stage) <= Stage::ALL.iter().position(|s| *s == Stage::Dce);
        if is_shared || matches!(stage, Stage::CpuPlan | Stage::Cpu) {
            assert!(text.is_ok(), "{}", stage.name());
        } else {
            let why = text.expect_err(stage.name());
            assert!(why.starts_with("the kernel has no variant `tma`: not "), "{why}");
        }
    }
}

/// A backward kernel is found by its name, and has the stages of a kernel.
#[test]
fn a_backward_kernel_is_shown() {
    let text = "#[tile_kernel(backward, tune(warps = [4]), grid = [1])]
         pub fn squares(x: &[f32], y: &mut [f32]) {
             let t = load(x, arange(128));
             store(y, arange(128), t * t);
         }";
    let variant = Variant::all().find(|v| v.name() == "general").expect("a variant");
    let of = |stage: Stage| show(text, &Libraries::default(), "squares_backward", None, None, variant, stage);
    let ast = of(Stage::Ast).expect("the text of the forward kernel");
    assert!(ast.contains("    backward,\n") && ast.contains("fn squares(x: &[f32], y: &mut [f32])"), "{ast}");
    let ir = of(Stage::Ir).expect("the function of the backward kernel");
    assert!(ir.contains("param y_grad: slice f32") && ir.contains("atomic_add x_grad["), "{ir}");
    assert!(of(Stage::Rust).is_ok_and(|code| code.contains("d::")) && of(Stage::Cpu).is_ok());
}
