import Glibc
import RoamwardProvider

/// Cases of each seed; `PROVIDER_FUZZ` sets another number.
let fuzzCount = getenv("PROVIDER_FUZZ").flatMap { Int(String(cString: $0)) } ?? 5000

func bytes(_ hex: String) -> [UInt8] {
  let digits = Array(hex.utf8)
  return stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16) }
}

/// An ICMP packet of 28 bytes.
let ping = bytes("450000546d1a4000400100000a0900020a0900010800f7ff00000000")
let pingPacket = Packet(ping)
