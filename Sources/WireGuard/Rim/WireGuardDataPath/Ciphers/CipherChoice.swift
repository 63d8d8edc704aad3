internal import CSodium
internal import CTransportCipher
internal import WireGuardEngine

/// The library that all threads of this process use for transport messages, and how it was chosen.
package struct CipherChoice: Hashable, Sendable {
  package var library: CipherLibrary
  /// Its name and version, such as `libipsec-mb 1.3.0`.
  package var description: String
  /// The time that each tested library takes to seal and open a packet of 1,424 bytes, the median.
  package var durations: [CipherLibrary: Duration] = [:]
  package var rejections: [LoadedCiphers.Rejection]

  /// Before any choice.
  package static var initial: CipherChoice {
    CipherChoice(library: .libsodium, description: "libsodium \(String(cString: sodium_version_string()))", rejections: [])
  }
}

extension LoadedCiphers {
  /// Tests each library against libsodium, measures it, and makes all threads use the fastest, or the one that was asked for by name. A
  /// wrong or slower one is rejected. Takes about 10 ms for each; other threads may seal and open meanwhile, because all libraries give the
  /// same bytes.
  package func choose() -> CipherChoice {
    _ = sodium_init()
    ctc_choose(nil)
    var choice = CipherChoice.initial
    choice.rejections = rejections
    guard !handles.isEmpty else { return choice }
    let trial = CipherTrial(count: 2048)
    let measured = 1424
    var best = trial.duration(of: nil, count: measured)
    choice.durations[.libsodium] = best
    var chosen: CipherHandle?
    for handle in handles {
      if let length = trial.firstFault(of: handle) {
        choice.rejections.append(
          Rejection(library: handle.library, reason: "it gives a wrong result for \(length) bytes", isUnexpected: true))
        continue
      }
      let duration = trial.duration(of: handle, count: measured)
      choice.durations[handle.library] = duration
      // A twentieth is less than such a short measurement can tell.
      guard isAskedFor || duration < best * 0.95 else {
        choice.rejections.append(
          Rejection(library: handle.library, reason: "\((chosen?.library ?? .libsodium).rawValue) is as fast on this processor"))
        continue
      }
      (best, chosen) = (duration, handle)
    }
    ctc_choose(chosen?.pointer)
    if let chosen { (choice.library, choice.description) = (chosen.library, chosen.description) }
    return choice
  }

  /// All threads use libsodium again.
  package static func reset() { ctc_choose(nil) }
}

/// Memory and keys to try a library with, before any packet depends on it.
struct CipherTrial: ~Copyable {
  private let memory: UnsafeMutableRawPointer
  private let size: Int
  private let maximum: Int
  private let key: [UInt8]

  /// For packets of up to `count` bytes.
  init(count: Int) {
    maximum = count
    // Three buffers, each with the room that the cipher needs around a payload.
    size = 3 * (TransportCipher.headroom + count + TransportCipher.tailroom)
    memory = .allocate(byteCount: size, alignment: 64)
    randombytes_buf(memory, size)
    key = (0..<32).map { _ in UInt8(truncatingIfNeeded: randombytes_random()) }
  }

  deinit { memory.deallocate() }

  private func buffer(_ number: Int) -> UnsafeMutableRawPointer { memory + number * (size / 3) + TransportCipher.headroom }

  /// The first length at which the library's result differs from libsodium's: sealing, opening, opening in place, and a forged tag. `nil`:
  /// it is right at every length.
  func firstFault(of handle: CipherHandle) -> Int? { (0...maximum).first { !isRight(handle, at: $0) } }

  private func isRight(_ handle: CipherHandle, at count: Int) -> Bool {
    let (plain, expected, own) = (buffer(0), buffer(1), buffer(2))
    let counter = UInt64(count) &* 0x9e37_79b9_7f4a_7c15
    let whole = count + TransportCipher.tag
    var nonce = [UInt8](repeating: 0, count: 12)
    for i in 0..<8 { nonce[4 + i] = UInt8(truncatingIfNeeded: counter >> (8 * UInt64(i))) }
    _ = crypto_aead_chacha20poly1305_ietf_encrypt(expected.octets, nil, plain.octets, UInt64(count), nil, 0, nil, nonce, key)

    own.copyMemory(from: plain, byteCount: count)
    guard ctc_seal_with(handle.pointer, own.octets, count, counter, key) == CTC_DONE, sodium_memcmp(own, expected, whole) == 0 else {
      return false
    }
    guard ctc_open_with(handle.pointer, expected.octets, count, counter, key, own.octets) == CTC_DONE,
      sodium_memcmp(own, plain, count) == 0
    else { return false }
    // One bit of the tag or of the message, a different one at each length.
    let bit = (count &* 37) % (whole * 8)
    own.copyMemory(from: expected, byteCount: whole)
    own.octets[bit / 8] ^= 1 << (bit % 8)
    guard ctc_open_with(handle.pointer, own.octets, count, counter, key, own.octets) == CTC_NOT_AUTHENTIC,
      sodium_is_zero(own.octets, count) == 1
    else { return false }
    own.copyMemory(from: expected, byteCount: whole)
    return ctc_open_with(handle.pointer, own.octets, count, counter, key, own.octets) == CTC_DONE && sodium_memcmp(own, plain, count) == 0
  }

  /// The median time to seal and open a packet, after the processor had time to change its clock. `nil`: by libsodium.
  func duration(of handle: CipherHandle?, count: Int) -> Duration {
    let clock = ContinuousClock()
    for _ in 0..<300 { pass(handle, count) }
    let rounds = (0..<15).map { _ in clock.measure { for _ in 0..<40 { pass(handle, count) } } }
    return rounds.sorted()[rounds.count / 2] / 40
  }

  private func pass(_ handle: CipherHandle?, _ count: Int) {
    let (sealed, opened) = (buffer(0), buffer(2))
    if let handle {
      _ = ctc_seal_with(handle.pointer, sealed.octets, count, 1, key)
      _ = ctc_open_with(handle.pointer, sealed.octets, count, 1, key, opened.octets)
    } else {
      key.withUnsafeBytes {
        guard let key = $0.baseAddress else { return }
        TransportCipher.sealBySodium(sealed, count: count, counter: 1, key: key)
        _ = TransportCipher.openBySodium(sealed, count: count, counter: 1, key: key, into: opened)
      }
    }
  }
}
