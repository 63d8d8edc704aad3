import KernelModel
import NetworkTypes
import RoamwardCore
import Testing
import Wire

@Suite("A UAPI request")
struct UAPIRequestTests {
  private let key1 = String(repeating: "01", count: 32)
  private let key2 = String(repeating: "02", count: 32)
  private let key9 = String(repeating: "09", count: 32)

  private func peer(
    _ byte: UInt8, endpoint: String? = nil, _ allowed: [String] = [], keepalive: UInt16 = 0, psk: UInt8? = nil
  ) -> WireGuardPeer {
    WireGuardPeer(
      publicKey: uapiKey(byte), presharedKey: psk.map(uapiSecret), endpoint: endpoint.flatMap(Endpoint.init),
      allowedIPs: allowed.compactMap(IPPrefix.init), persistentKeepalive: keepalive)
  }

  private func device(_ peers: [WireGuardPeer], port: UInt16? = nil) -> WireGuardDevice {
    WireGuardDevice(engine: .userspace, privateKey: uapiSecret(9), publicKey: uapiKey(8), listenPort: port, firewallMark: 7, peers: peers)
  }

  /// The report of an engine with this configuration.
  private func state(_ device: WireGuardDevice) -> WireGuardState {
    WireGuardState(
      engine: .userspace, publicKey: device.publicKey, listenPort: device.listenPort ?? 40000, firewallMark: device.firewallMark,
      peers: device.peers.map {
        WireGuardState.Peer(
          publicKey: $0.publicKey, presharedKey: $0.presharedKey, endpoint: $0.endpoint, allowedIPs: $0.allowedIPs,
          persistentKeepalive: $0.persistentKeepalive)
      })
  }

  @Test("says everything where nothing is known, and drops what else there is")
  func fromNothing() {
    let device = device([peer(1, endpoint: "[2001:db8::1]:51820", ["0.0.0.0/0", "::/0"], keepalive: 25, psk: 2)], port: 51820)
    #expect(
      UAPIRequest.configure(device, observed: nil) == """
        set=1
        private_key=\(key9)
        listen_port=51820
        fwmark=7
        replace_peers=true
        public_key=\(key1)
        preshared_key=\(key2)
        endpoint=[2001:db8::1]:51820
        persistent_keepalive_interval=25
        replace_allowed_ips=true
        allowed_ip=0.0.0.0/0
        allowed_ip=::/0


        """)
  }

  @Test("says nothing to a device that is as wanted, though its peer has roamed and its port was free to choose")
  func unchanged() {
    let wanted = device([peer(1, endpoint: "192.0.2.1:1", ["10.0.0.0/8", "10.0.0.0/16"])])
    var observed = state(wanted)
    observed.peers[0].endpoint = Endpoint("198.51.100.9:999")
    observed.peers[0].allowedIPs.reverse()
    #expect(UAPIRequest.configure(wanted, observed: observed) == nil)
    #expect(wanted.isSatisfied(by: observed))
  }

  @Test("says only what differs: peers that went, changed and came, in this order; untouched ones are not named")
  func differences() {
    let same = peer(3, ["10.3.0.0/16"])
    let observed = state(device([peer(1, endpoint: "192.0.2.1:1", ["10.1.0.0/16"], psk: 5), peer(2, ["10.2.0.0/16"]), same]))
    let wanted = device([peer(4, ["10.2.0.0/16"]), same, peer(1, endpoint: "192.0.2.2:1", ["10.9.0.0/16"], keepalive: 5)])
    #expect(
      UAPIRequest.configure(wanted, observed: observed) == """
        set=1
        public_key=\(key2)
        remove=true
        public_key=\(String(repeating: "04", count: 32))
        persistent_keepalive_interval=0
        replace_allowed_ips=true
        allowed_ip=10.2.0.0/16
        public_key=\(key1)
        update_only=true
        preshared_key=\(String(repeating: "0", count: 64))
        persistent_keepalive_interval=5
        replace_allowed_ips=true
        allowed_ip=10.9.0.0/16


        """)
  }

  @Test("sets a running peer's endpoint when asked to, or when the engine knows none")
  func endpoints() {
    let wanted = device([peer(1, endpoint: "192.0.2.2:1")])
    var observed = state(device([peer(1, endpoint: "192.0.2.1:1")]))
    let request = "set=1\npublic_key=\(key1)\nupdate_only=true\nendpoint=192.0.2.2:1\n\n"
    #expect(UAPIRequest.configure(wanted, observed: observed) == nil)
    #expect(UAPIRequest.configure(wanted, observed: observed, settingEndpoints: true) == request)
    observed.peers[0].endpoint = nil
    #expect(UAPIRequest.configure(wanted, observed: observed) == request)
    #expect(UAPIRequest.configure(device([peer(1, endpoint: "vpn.example.com:1")]), observed: observed) == nil)
  }

  @Test("refreshes endpoints and keepalives alone")
  func refresh() {
    #expect(
      UAPIRequest.refresh([peer(1, endpoint: "192.0.2.1:1", ["10.0.0.0/8"], keepalive: 25), peer(2, keepalive: 0, psk: 3)]) == """
        set=1
        public_key=\(key1)
        update_only=true
        endpoint=192.0.2.1:1
        persistent_keepalive_interval=25
        public_key=\(key2)
        update_only=true
        persistent_keepalive_interval=0


        """)
  }

  @Test("what it sets, an engine that answers in the same words is read back to satisfy")
  func roundTrip() throws {
    var wanted = device([peer(1, endpoint: "192.0.2.1:1", ["10.0.0.0/8", "2001:db8::/32"], keepalive: 25, psk: 2), peer(3)], port: 51820)
    wanted.publicKey = try #require(wanted.privateKey.publicKey)
    let request = try #require(UAPIRequest.configure(wanted, observed: nil))
    let lines = request.split(separator: "\n").filter { !$0.hasPrefix("set=") && !$0.hasPrefix("replace_") }
    let reply = lines.joined(separator: "\n") + "\nerrno=0\n\n"
    let state = try UAPIReply(reply).state()
    #expect(wanted.isSatisfied(by: state))
    #expect(UAPIRequest.configure(wanted, observed: state, settingEndpoints: true) == nil)
  }
}
