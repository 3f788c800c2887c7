fn main() {
    tilewright_build::Settings::from_env().emulated(cfg!(feature = "emulator")).compile();
}
