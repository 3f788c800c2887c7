fn main() {
    kernel_build::compile()
}
