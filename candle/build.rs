fn main() {
    tilewright_build::compile();
}
