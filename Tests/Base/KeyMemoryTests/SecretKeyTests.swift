import Testing

@testable import KeyMemory

@Suite struct SecretKeyTests {
  private func key(_ byte: UInt8) throws -> SecretKey { try #require(SecretKey(bytes: Array(repeating: byte, count: 32))) }

  @Test("the same key is one copy, however often and in whatever form it is read") func oneCopy() throws {
    let digits = String(repeating: "b7", count: 32)
    let keys = try [
      key(0xb7), key(0xb7), #require(SecretKey(hexadecimal: digits)), #require(SecretKey(hexadecimal: digits.uppercased())),
      #require(SecretKey(base64: "t7e3t7e3t7e3t7e3t7e3t7e3t7e3t7e3t7e3t7e3t7c=")),
    ]
    #expect(Set(keys).count == 1)
    let places = Set(keys.map { key in key.withUnsafeBytes { $0.baseAddress } })
    #expect(places.count == 1)
    #expect(keys[0].hexadecimal == digits)
    var message: [UInt8] = [1]
    keys[0].append(to: &message)
    #expect(message == [1] + Array(repeating: 0xb7, count: 32))
    #expect(try keys[0] != key(0xb8) && !keys[0].isZero && key(0).isZero)
  }

  @Test("every digit is written as it is read") func digits() throws {
    let text = "000102030405060708090a0b0c0d0e0f102030405060708090a0b0c0d0e0f0ff"
    #expect(SecretKey(hexadecimal: text)?.hexadecimal == text)
  }

  @Test("two keys make one seal: that of X25519 and HMAC-SHA256 in another implementation (Python)") func seal() throws {
    let (first, second) = (try #require(SecretKey(bytes: 1...32)), try #require(SecretKey(bytes: 101...132)))
    let (own, other) = (try #require(first.publicBytes), try #require(second.publicBytes))
    let (label, message) = (Array("roamward settings 1".utf8), Array("message".utf8))
    let seal = try #require(first.seal(message, with: other, label: label))
    let digits = seal.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    #expect(digits == "8b8e73228be5476d6235572f035183acf68f4a491e458e419ed653610c36782e")
    #expect(second.seal(message, with: own, label: label) == seal)
    #expect(first.seal(message, with: own, label: label) != seal && first.seal(message, with: other, label: [1]) != seal)
    #expect(first.seal(message, with: [UInt8](repeating: 0, count: 32), label: label) == nil)
    #expect(first.seal(message, with: [], label: label) == nil)
  }

  @Test("what is no key", arguments: ["", "b7", String(repeating: "b7", count: 33), String(repeating: "g", count: 64)])
  func noKey(text: String) {
    #expect(SecretKey(hexadecimal: text) == nil && SecretKey(base64: text) == nil && SecretKey(bytes: Array(text.utf8)) == nil)
  }

  @Test("the memory is wiped when the last value goes, and not before") func release() throws {
    var first: SecretKey? = try key(0xc1)
    var second = first
    let address = first.flatMap { key in key.withUnsafeBytes { $0.baseAddress } }
    let place = try #require(address)
    first = nil
    #expect(UnsafeRawBufferPointer(start: place, count: 32).allSatisfy { $0 == 0xc1 })
    #expect(second != nil)
    second = nil
    // The cell may be somebody else's by now, but it does not hold this key.
    #expect(!UnsafeRawBufferPointer(start: place, count: 32).allSatisfy { $0 == 0xc1 })
  }

  @Test("a key that is read again after it was let go of is a key again; the table keeps none of them") func again() throws {
    let keys = StoredKeys()
    for _ in 0..<3 {
      let bytes = SecretBytes()
      let one = keys.key(bytes)
      let other = keys.key(SecretBytes())
      #expect(one === other && keys.count == 1)
    }
    #expect(keys.count == 0)
  }

  @Test("keys are read and let go of by many threads") func threads() async throws {
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 {
        group.addTask {
          (0..<2000).allSatisfy { i in
            let bytes = [UInt8](repeating: UInt8(i % 5), count: 32)
            guard let key = SecretKey(bytes: bytes), let same = SecretKey(bytes: bytes) else { return false }
            return key == same && key.withUnsafeBytes { Array($0) } == bytes
          }
        }
      }
      for await isWell in group { #expect(isWell) }
    }
  }

  @Test("a key tells nothing of itself, however it is printed") func printing() throws {
    let key = try key(0xa7)
    var dumped = ""
    dump(["key": key], to: &dumped)
    for text in ["\(key)", String(reflecting: key), "\(Optional.some(key) as Any)", dumped] {
      #expect(text.contains("(secret)"))
      #expect(!text.contains("167") && !text.contains("a7"))
    }
  }
}

@Suite struct SealedBytesTests {
  @Test("what is sealed is opened as it was; equal contents are equal", arguments: [0, 1, 31, 64, 1000, 1 << 20])
  func sealing(count: Int) {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    let sealed = SealedBytes(bytes)
    #expect(sealed.opened == bytes)
    #expect(sealed == SealedBytes(bytes) && sealed.hashValue == SealedBytes(bytes).hashValue)
    #expect(sealed != SealedBytes(bytes + [0]))
  }

  @Test("nothing of what is sealed is shown, nor is it in the memory of the value") func hidden() {
    let sealed = SealedBytes(Array("PrivateKey = YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=".utf8))
    #expect("\(sealed)" == "(sealed)" && String(reflecting: sealed) == "(sealed)")
    #expect(sealed.sealed.firstRange(of: Array("PrivateKey".utf8)) == nil)
    var shown = ""
    dump(sealed, to: &shown)
    #expect(shown == "- (sealed)\n")
  }
}
