fn main() {
    kernel_build::Settings::from_env().emulated(cfg!(feature = "emulator")).compile();
}
