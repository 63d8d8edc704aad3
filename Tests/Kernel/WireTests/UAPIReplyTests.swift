import KernelModel
import KeyMemory
import NetworkTypes
import RoamwardCore
import SeededRandom
import Testing
import Wire

/// The answer that https://www.wireguard.com/xplatform/ gives as its example, in wireguard-go's words.
private let exampleReply = """
  private_key=e84b5a6d2717c1003a13b431570353dbaca9146cf150c5f8575680feba52027a
  listen_port=12912
  fwmark=1375731712
  public_key=b85996fecc9c7f1fc6d2572a76eda11d59bcd20be8e543b15ce4bd85a8e75a33
  preshared_key=188515093e952f5f22e865cef3012e72f8b5f0b598ac0309d5dacce3b70fcf52
  protocol_version=1
  endpoint=[abcd:23::33%2]:51820
  last_handshake_time_sec=0
  last_handshake_time_nsec=0
  tx_bytes=0
  rx_bytes=0
  persistent_keepalive_interval=0
  allowed_ip=192.168.4.4/32
  public_key=58402e695ba1772b1cc9309755f043251ea77fdcf10fbe63989ceb7e19321376
  preshared_key=0000000000000000000000000000000000000000000000000000000000000000
  endpoint=182.122.22.19:3233
  last_handshake_time_sec=1700000000
  last_handshake_time_nsec=5
  tx_bytes=38333
  rx_bytes=2224
  persistent_keepalive_interval=111
  allowed_ip=192.168.4.6/32
  allowed_ip=2001:db8::/32
  a_key_of_the_future=x=y
  errno=0


  """

func uapiKey(_ byte: UInt8) -> WireGuardKey {
  guard let key = WireGuardKey(bytes: Array(repeating: byte, count: 32)) else { preconditionFailure("32 bytes are a key") }
  return key
}

func uapiSecret(_ byte: UInt8) -> SecretKey {
  guard let key = SecretKey(bytes: Array(repeating: byte, count: 32)) else { preconditionFailure("32 bytes are a key") }
  return key
}

@Suite("A UAPI reply")
struct UAPIReplyTests {
  @Test("reads the protocol's own example")
  func example() throws {
    let state = try UAPIReply(exampleReply).state()
    #expect(state.engine == .userspace)
    // As wg(8) makes it of the private one.
    #expect(state.publicKey?.bytes.prefix(4) == [0xc1, 0x53, 0x2e, 0x1b])
    #expect(state.listenPort == 12912)
    #expect(state.firewallMark == 0x5200_0000)
    try #require(state.peers.count == 2)
    #expect(state.peers[0].presharedKey?.hexadecimal.hasPrefix("188515093e95") == true)
    #expect(state.peers[0].endpoint?.description == "[abcd:23::33]:51820")
    #expect(state.peers[0].allowedIPs.map(\.description) == ["192.168.4.4/32"])
    #expect(state.peers[1].presharedKey == nil)
    #expect(state.peers[1].endpoint?.description == "182.122.22.19:3233")
    #expect(state.peers[1].allowedIPs.map(\.description) == ["192.168.4.6/32", "2001:db8::/32"])
    #expect(state.peers[1].persistentKeepalive == 111)
    #expect(state.peers[1].sentBytes == 38333)
    #expect(state.peers[1].receivedBytes == 2224)
    #expect(state.lastHandshake == 1_700_000_000)
  }

  @Test("a device without a key has no public key")
  func bare() throws {
    #expect(try UAPIReply("errno=0\n\n").state() == WireGuardState(engine: .userspace))
    let zeros = "private_key=" + String(repeating: "0", count: 64) + "\nerrno=0\n\n"
    #expect(try UAPIReply(zeros).state().publicKey == nil)
  }

  @Test(
    "tells what is wrong",
    arguments: [
      ("", UAPIReply.Failure.incomplete), ("\n\n", .malformed(key: "line")), ("errno=0\n", .incomplete), ("listen_port=1\n\n", .incomplete),
      ("errno=\n\n", .malformed(key: "errno")), ("errno=-\n\n", .malformed(key: "errno")), ("errno=1\n\n", .refused(1)),
      ("errno=-22\n\n", .refused(22)), ("errno=99999999999\n\n", .malformed(key: "errno")), ("x\nerrno=0\n\n", .malformed(key: "line")),
      ("listen_port=65536\nerrno=0\n\n", .malformed(key: "listen_port")), ("fwmark=+1\nerrno=0\n\n", .malformed(key: "fwmark")),
      ("private_key=00\nerrno=0\n\n", .malformed(key: "private_key")), ("public_key=zz\nerrno=0\n\n", .malformed(key: "public_key")),
    ])
  func failures(text: String, failure: UAPIReply.Failure) {
    #expect(throws: failure) { try UAPIReply(text).state() }
  }

  @Test("100,000 mutations of the example give a value or an error, never a trap")
  func mutations() {
    var random = SplitMix64(seed: 0x5ca1ab1e)
    let original = Array(exampleReply.utf8)
    var read = 0
    for _ in 0..<100_000 {
      var bytes = original
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: at)
        case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
        case 3: bytes.removeSubrange(at...)
        default: bytes.replaceSubrange(at..<min(at + 20, bytes.count), with: bytes[0..<min(20, bytes.count)])
        }
        if bytes.isEmpty { bytes = [10] }
      }
      if (try? UAPIReply(String(decoding: bytes, as: UTF8.self)).state()) != nil { read += 1 }
    }
    // Some mutations must survive, or they were too crude to reach the inner parts.
    #expect(read > 1000)
  }
}
