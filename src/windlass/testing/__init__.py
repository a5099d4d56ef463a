"""What tests and benchmarks share: real servers on loopback, fakes and the simulator."""
