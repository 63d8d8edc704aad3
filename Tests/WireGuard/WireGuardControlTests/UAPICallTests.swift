import NetworkTypes
import Testing
import WireGuardControl

@Suite("A UAPI call, as an engine reads it")
struct UAPICallTests {
  private static let key = String(repeating: "0a", count: 32)
  private static let other = String(repeating: "b0", count: 32)

  private func call(_ text: String) throws -> UAPICall { try UAPICall(Array(text.utf8)) }

  private func set(_ text: String) throws -> UAPIDeviceChange {
    guard case .set(let change) = try call(text) else { throw UAPICall.Failure.unknown }
    return change
  }

  @Test("says all that can be said of a device and its peers, and where its secrets stand")
  func everything() throws {
    let text = """
      set=1
      private_key=\(Self.key)
      listen_port=51820
      fwmark=0x52
      replace_peers=true
      public_key=\(Self.other)
      update_only=true
      preshared_key=\(Self.key)
      endpoint=[fe80::1%eth0]:7
      probe=192.0.2.9:51820
      persistent_keepalive_interval=25
      replace_allowed_ips=true
      allowed_ip=10.0.0.0/8
      allowed_ip=-2001:db8::/32
      protocol_version=1
      public_key=\(Self.key)
      remove=true

      """
    let change = try set(text)
    func digits(_ range: Range<Int>?) -> String? { range.map { String(decoding: Array(text.utf8)[$0], as: UTF8.self) } }
    #expect(digits(change.privateKey) == Self.key && digits(change.peers[0].presharedKey) == Self.key)
    #expect(change.listenPort == 51820 && change.firewallMark == 0x52 && change.replacesPeers)
    let peer = change.peers[0]
    #expect(peer.publicKey == [UInt8](repeating: 0xb0, count: 32) && peer.updatesOnly && !peer.removes)
    #expect(peer.endpoint?.address == IPAddress("fe80::1") && peer.endpoint?.port == 7 && peer.endpoint?.zone == "eth0")
    #expect(peer.probe == UAPIEndpoint("192.0.2.9:51820"))
    #expect(peer.persistentKeepalive == 25 && peer.replacesAllowedIPs)
    #expect(peer.allowedIPs == [IPPrefix("10.0.0.0/8")] && peer.removedAllowedIPs == [IPPrefix("2001:db8::/32")])
    #expect(change.peers.count == 2 && change.peers[1].removes)
    #expect(try call("get=1\n\n") == .get(peers: []))
    let keys = [[UInt8](repeating: 0x0a, count: 32), [UInt8](repeating: 0xb0, count: 32)]
    #expect(try call("get=1\npublic_key=\(Self.key)\npublic_key=\(Self.other)\n\n") == .get(peers: keys))
  }

  @Test(
    "is refused as malformed, or as unknown, where it is",
    arguments: [
      ("", UAPICall.Failure.malformed), ("get", .malformed), ("get=2", .malformed), ("dump=1", .unknown),
      ("get=1\npublic_key=0a", .malformed), ("get=1\nlisten_port=1", .unknown),
      ("set=1\nlisten_port", .malformed),
      ("set=1\nlisten_port=65536", .malformed), ("set=1\nlisten_port=+1", .malformed), ("set=1\nlisten_port=-1", .malformed),
      ("set=1\nlisten_port=", .malformed), ("set=1\nfwmark=0x", .malformed), ("set=1\nfwmark=0x100000000", .malformed),
      ("set=1\nprivate_key=00", .malformed), ("set=1\nprivate_key=\(key)0", .malformed), ("set=1\nreplace_peers=false", .malformed),
      ("set=1\nallowed_ip=10.0.0.0/8", .unknown), ("set=1\npublic_key=\(key)\nlisten_port=1", .unknown),
      ("set=1\npublic_key=\(key)\nendpoint=example.org:1", .malformed), ("set=1\npublic_key=\(key)\nendpoint=192.0.2.1", .malformed),
      ("set=1\npublic_key=\(key)\nprobe=vpn:1", .malformed), ("set=1\nprobe=192.0.2.1:1", .unknown),
      ("set=1\npublic_key=\(key)\nallowed_ip=10.0.0.0/33", .malformed), ("set=1\npublic_key=\(key)\nprotocol_version=2", .malformed),
      ("set=1\npublic_key=\(key)\nprivate_key=\(key)", .unknown),
    ])
  func refused(text: String, failure: UAPICall.Failure) { #expect(throws: failure) { try call(text) } }

  @Test("any bytes are read or refused, and a request's end is behind its first empty line")
  func anyBytes() {
    let sample = Array("set=1\nprivate_key=\(Self.key)\nfwmark=0x1\npublic_key=\(Self.other)\nendpoint=[::1]:1\nallowed_ip=::/0\n\n".utf8)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      var bytes = sample
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes.remove(at: place)
        case 2: bytes.insert([10, 61, 0, 255][Int.random(in: 0..<4, using: &generator)], at: place)
        default: bytes.removeSubrange(place...)
        }
        if bytes.isEmpty { bytes = [10] }
      }
      if case .set(let change)? = try? UAPICall(bytes) {
        for range in [change.privateKey] + change.peers.map(\.presharedKey) { if let range { #expect(range.count == 64) } }
      }
      if let end = UAPICall.end(in: bytes) { #expect(Array(bytes[(end - 2)..<end]) == [10, 10]) }
    }
    #expect(UAPICall.end(in: sample) == sample.count && UAPICall.end(in: Array(sample.dropLast())) == nil && UAPICall.end(in: []) == nil)
  }
}
