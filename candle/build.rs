fn main() {
    tilewright::build::compile()
}
