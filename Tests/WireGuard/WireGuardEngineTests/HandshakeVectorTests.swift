import CSodium
import KeyMemory
import NetworkTypes
import Testing

@testable import WireGuardEngine

/// BLAKE2s by RFC 7693; HMAC and HKDF as Python's hashlib and hmac compute them; handshakes as PyPI's noiseprotocol 0.3.1, an
/// implementation of its own that passes the vectors of cacophony, makes them with WireGuard's prologue. The static keys, the ephemeral
/// keys and the preshared key are cacophony's.
@Suite struct HandshakeVectorTests {
  private func hash(_ bytes: [UInt8]) -> [UInt8] {
    var result = PublicKey()
    bytes.withUnsafeBytes { bytes in result.withUnsafeMutableBytes { BLAKE2s.hash(bytes, into: $0.address(0)) } }
    return result.bytes
  }

  private func mac(_ key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: 16)
    key.withUnsafeBytes { key in
      bytes.withUnsafeBytes { bytes in result.withUnsafeMutableBytes { BLAKE2s.mac(key: key, bytes, into: $0.address(0)) } }
    }
    return result
  }

  @Test("BLAKE2s: RFC 7693 appendix B, and the first vectors of the reference package")
  func blake2s() {
    #expect(hex(hash(Array("abc".utf8))) == "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982")
    let known = [
      "69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9",
      "e34d74dbaf4ff4c6abd871cc220451d2ea2648846c7757fbaac82fe51ad64bea",
      "ddad9ab15dac4549ba42f49d262496bef6c0bae1dd342a8808f8ea267c6e210c",
      "e8f91c6ef232a041452ab0e149070cdd7dd1769e75b3a5921be37876c45c9900",
    ]
    for (length, expected) in known.enumerated() { #expect(hex(hash((0..<UInt8(length)).map { $0 })) == expected) }
    #expect(hex(hash((0..<64).map { $0 })) == "56f34e8b96557e90c1f24b52d0c89d51086acf1b00f634cf1dde9233b8eaaa3e")
    #expect(hex(hash((0..<65).map { $0 })) == "1b53ee94aaf34e4b159d48de352c7f0661d0a40edff95a0b1639b4090e974472")
  }

  @Test("BLAKE2s: 32 and 16 bytes, keyed, over inputs around the block size") func keyed() {
    let key = (0..<32).map { UInt8($0) }
    #expect(hex(mac(key, (0..<200).map { UInt8($0) })) == "42a6f8ff590af21b512e9e088257aa34")
    for length in [0, 1, 63, 64, 65, 127, 128, 129, 255] {
      let input = (0..<length).map { UInt8($0 & 255) }
      // In two parts it is the same.
      var parts = [UInt8](repeating: 0, count: 16)
      key.withUnsafeBytes { key in
        input.withUnsafeBytes { input in
          parts.withUnsafeMutableBytes {
            BLAKE2s.mac(
              key: key, UnsafeRawBufferPointer(rebasing: input[..<(length / 3)]), UnsafeRawBufferPointer(rebasing: input[(length / 3)...]),
              into: $0.address(0))
          }
        }
      }
      #expect(parts == mac(key, input))
    }
  }

  @Test("HMAC-BLAKE2s and the HKDF of one, two and three outputs") func derivation() throws {
    let key = (0..<32).map { UInt8($0) }
    var result = [UInt8](repeating: 0, count: 32)
    let text = Array("what do ya want for nothing?".utf8)
    key.withUnsafeBytes { key in
      text.withUnsafeBytes { text in result.withUnsafeMutableBytes { BLAKE2s.hmac(key: key.address(0), text, into: $0.address(0)) } }
    }
    #expect(hex(result) == "14229dde9cdbd4dd31b1a703ac36832ecc9177e0ba0d4632568515aaec7e401f")
    let expected = [
      "6a96444e20e8d4c1cee974416acae1c10b3c92886010e54ed94dafb2c3b80ea0",
      "57af120b0de7acbe7907ec149c5ae870a2dbb74232b65777ba4123f1f7f888f5",
      "0926c7caabb6e8d73beda759e6f4f0d324ce5b5000bcf8cd784b26db3049faa9",
    ]
    let input = (32..<64).map { UInt8($0) }
    for count in 1...3 {
      let chainingKey = try #require(SecretBytes(bytes: key))
      let outputs = [chainingKey, SecretBytes(), SecretBytes()]
      input.withUnsafeBytes {
        BLAKE2s.derive(from: chainingKey, $0, outputs[0], count > 1 ? outputs[1] : nil, count > 2 ? outputs[2] : nil)
      }
      for i in 0..<count { #expect(hex(outputs[i].withUnsafeBytes { Array($0) }) == expected[i]) }
    }
  }

  @Test("X25519: RFC 7748, 6.1; and a point of low order gives no secret") func curve() throws {
    let alice = try #require(SecretBytes(bytes: bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")))
    let bob = try #require(SecretBytes(bytes: bytes("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")))
    #expect(hex(Curve25519.publicKey(of: alice).bytes) == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
    let shared = try #require(Curve25519.sharedSecret(alice, Curve25519.publicKey(of: bob)))
    #expect(hex(shared.withUnsafeBytes { Array($0) }) == "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
    #expect(Curve25519.sharedSecret(alice, PublicKey()) == nil)
  }

  /// One handshake, byte by byte, both ways.
  struct Transcript: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let presharedKey: String
    let initiation: String
    let response: String
    let confirmation: String
    let reply: String
  }

  static let transcripts = [
    Transcript(
      testDescription: "with a preshared key",
      presharedKey: "54686973206973206d7920417573747269616e20706572737065637469766521",
      initiation: "0100000044332211ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944001e21de9f98ddd8e2ad57527207feb56253c9c9"
        + "4a9e496782ecfcb2a75fbcaf752d6cf9956f6a4cc1a138d6de1e87238cbd2c462d6bf53d94c8361900f29d791a2062d131a1bda168a90d8efba1183a"
        + "d52bda9390df7b15c432eafe00000000000000000000000000000000",
      response: "02000000887766554433221195ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f1448088437f744ea53c18fbb9f0f8d517761eac3c"
        + "495d15c4839a6260fd74761336aaa04a00000000000000000000000000000000",
      confirmation: "040000008877665500000000000000007b10d7058fd6195d3ef4f80e0a625b8b",
      reply: "0400000044332211000000000000000044cf7cf3a2a9d781605ac84799d6a753fb673dece5e1188b766b1edbc26b7047a189a43e08a245eb982b2e8e"
        + "0a9a8d0b"),
    Transcript(
      testDescription: "without",
      presharedKey: "0000000000000000000000000000000000000000000000000000000000000000",
      initiation: "0100000044332211ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944001e21de9f98ddd8e2ad57527207feb56253c9c9"
        + "4a9e496782ecfcb2a75fbcaf752d6cf9956f6a4cc1a138d6de1e87238cbd2c462d6bf53d94c8361900f29d791a2062d131a1bda168a90d8efba1183a"
        + "d52bda9390df7b15c432eafe00000000000000000000000000000000",
      response: "02000000887766554433221195ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843612ff9d53eb2198a027b8a3cc3971c6e"
        + "5c0ff80eeb451dc3a5ad49abd78cf90200000000000000000000000000000000",
      confirmation: "040000008877665500000000000000000382c91a49a8cf83a69aeb24cf1372f7",
      reply: "040000004433221100000000000000007330eef5ffa37ad936477380dd78d1e7671132ca9590f9170d7befeca32ada8658c899284de08d7873e9443e"
        + "d044be99"),
  ]

  @Test("a handshake and a first packet each way are the very bytes of another implementation", arguments: transcripts)
  func transcript(_ expected: Transcript) throws {
    let initiator = Identity(try #require(SecretBytes(bytes: bytes("e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1"))))
    let responder = Identity(try #require(SecretBytes(bytes: bytes("4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893"))))
    let psk = try #require(SecretBytes(bytes: bytes(expected.presharedKey)))
    let toResponder = PeerIdentity(responder.publicKey, presharedKey: psk, ours: initiator)
    let toInitiator = PeerIdentity(initiator.publicKey, presharedKey: psk, ours: responder)
    let time = EngineTime(moment: Moment(nanoseconds: 0), wallSeconds: 1_700_000_000, wallNanoseconds: 1 << 28)

    var message = [UInt8](repeating: 0, count: 148)
    let initiation = try #require(
      message.withUnsafeMutableBytes { message in
        let initiation = Initiation(
          to: toResponder, from: initiator, localIndex: 0x1122_3344, timestamp: Timestamp(time, after: .zero),
          entropy: fixed("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"), into: message)
        _ = MessageMACs(receiver: responder.publicKey).sign(message, cookie: nil)
        return initiation
      })
    #expect(hex(message) == expected.initiation)

    let received = try #require(message.withUnsafeBytes { ReceivedInitiation($0, ours: responder) })
    #expect(received.initiator == initiator.publicKey)
    #expect(message.withUnsafeBytes { received.timestamp($0, peer: toInitiator) } == Timestamp(time, after: .zero))
    var response = [UInt8](repeating: 0, count: 92)
    let responderKeys = try #require(
      response.withUnsafeMutableBytes { response in
        let keys = received.respond(
          to: toInitiator, localIndex: 0x5566_7788,
          entropy: fixed("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"), into: response)
        _ = MessageMACs(receiver: initiator.publicKey).sign(response, cookie: nil)
        return keys
      })
    #expect(hex(response) == expected.response)

    let (keys, remoteIndex) = try #require(
      response.withUnsafeBytes { initiation.keys(from: $0, peer: toResponder, ours: initiator) })
    #expect(remoteIndex == 0x5566_7788)
    #expect(keys.sending == responderKeys.receiving && keys.receiving == responderKeys.sending)
    #expect(hex(record(keys, to: 0x5566_7788, [])) == expected.confirmation)
    #expect(hex(record(responderKeys, to: 0x1122_3344, (0..<32).map { UInt8($0) })) == expected.reply)
  }

  private func record(_ keys: TransportKeys, to index: UInt32, _ payload: [UInt8]) -> [UInt8] {
    var session = SendingSession(
      key: UnsafeRawPointer(keys.sending.pointer), localIndex: 0, remoteIndex: index, createdAt: 0, isInitiator: true)
    var buffer = [UInt8](repeating: 0, count: 64 + payload.count + 543)
    buffer.replaceSubrange(64..<64 + payload.count, with: payload)
    let length = withUnsafeMutablePointer(to: &session) { session in
      buffer.withUnsafeMutableBytes { session.seal(payload.count, at: $0.address(64)) }
    }
    return Array(buffer[48..<48 + length])
  }

  private func fixed(_ text: String) -> Entropy { Entropy { $0.copyBytes(from: bytes(text).prefix($0.count)) } }
}

func hex(_ bytes: some Sequence<UInt8>) -> String { bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

func bytes(_ hex: String) -> [UInt8] {
  let digits = hex.utf8.map { UInt8($0 < 58 ? $0 - 48 : $0 - 87) }
  return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}
