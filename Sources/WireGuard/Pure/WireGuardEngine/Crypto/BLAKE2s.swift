internal import CBlake2
internal import CSodium
internal import KeyMemory

/// BLAKE2s (RFC 7693): plain, keyed, and in the HMAC and HKDF forms that Noise builds from it. Nothing allocates.
enum BLAKE2s {
  static let length = 32

  /// Writes the 32-byte hash of the concatenation of two parts.
  static func hash(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
    into result: UnsafeMutableRawPointer
  ) {
    var state = blake2s_state()
    blake2s_init(&state, length)
    update(&state, first)
    update(&state, second)
    finish(&state, into: result, count: length)
  }

  /// Keyed BLAKE2s with 16 bytes of output: the MACs and the cookie.
  static func mac(
    key: UnsafeRawBufferPointer, _ first: UnsafeRawBufferPointer,
    _ second: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), into result: UnsafeMutableRawPointer
  ) {
    var state = blake2s_state()
    blake2s_init_key(&state, 16, key.baseAddress, key.count)
    update(&state, first)
    update(&state, second)
    finish(&state, into: result, count: 16)
  }

  /// HMAC (RFC 2104) with a key of 32 bytes over the concatenation of two parts.
  static func hmac(
    key: UnsafeRawPointer, _ first: UnsafeRawBufferPointer,
    _ second: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), into result: UnsafeMutableRawPointer
  ) {
    withUnsafeTemporaryAllocation(byteCount: 96, alignment: 8) { scratch in
      guard let base = scratch.baseAddress else { return }
      let pad = UnsafeMutableRawBufferPointer(start: base, count: 64)
      let inner = base + 64
      func fillPad(_ byte: UInt8) {
        for i in 0..<64 { pad[i] = byte ^ (i < 32 ? key.load(fromByteOffset: i, as: UInt8.self) : 0) }
      }
      var state = blake2s_state()
      fillPad(0x36)
      blake2s_init(&state, length)
      update(&state, UnsafeRawBufferPointer(pad))
      update(&state, first)
      update(&state, second)
      finish(&state, into: inner, count: length)
      fillPad(0x5c)
      hash(UnsafeRawBufferPointer(pad), UnsafeRawBufferPointer(start: inner, count: length), into: result)
      sodium_memzero(base, 96)
    }
  }

  /// The HKDF of Noise: derives one to three keys of 32 bytes from a chaining key and input. An output may be the chaining key itself.
  static func derive(
    from chainingKey: SecretBytes, _ input: UnsafeRawBufferPointer, _ first: SecretBytes, _ second: SecretBytes? = nil,
    _ third: SecretBytes? = nil
  ) {
    let temporary = SecretBytes()
    hmac(key: chainingKey.pointer, input, into: temporary.pointer)
    var count: UInt8 = 1
    var previous: SecretBytes?
    for output in [first, second, third] {
      guard let output else { break }
      let before = UnsafeRawBufferPointer(start: previous?.pointer, count: previous == nil ? 0 : length)
      withUnsafeBytes(of: count) { hmac(key: temporary.pointer, before, $0, into: output.pointer) }
      previous = output
      count += 1
    }
  }

  private static func update(_ state: inout blake2s_state, _ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress, bytes.count > 0 else { return }
    blake2s_update(&state, base.assumingMemoryBound(to: UInt8.self), bytes.count)
  }

  private static func finish(_ state: inout blake2s_state, into result: UnsafeMutableRawPointer, count: Int) {
    blake2s_final(&state, result.assumingMemoryBound(to: UInt8.self), count)
    sodium_memzero(&state, MemoryLayout<blake2s_state>.size)
  }
}
