import KernelModel
import NetworkTypes
import Testing
import Wire
import WireGuardControl

@Suite("A request to an engine")
struct UAPIInverseTests {
  @Test("what we say to an engine, an engine understands")
  func inverse() throws {
    let device = WireGuardDevice(
      engine: .userspace, privateKey: uapiSecret(9), publicKey: uapiKey(8), listenPort: 51820, firewallMark: 7,
      peers: [
        WireGuardPeer(
          publicKey: uapiKey(1), presharedKey: uapiSecret(2), endpoint: Endpoint("[2001:db8::1]:51820"),
          allowedIPs: ["0.0.0.0/0", "::/0"].compactMap(IPPrefix.init), persistentKeepalive: 25)
      ])
    let request = try #require(UAPIRequest.configure(device, observed: nil))
    guard case .set(let change) = try UAPICall(Array(request.utf8)) else { throw UAPICall.Failure.unknown }
    #expect(change.listenPort == 51820 && change.firewallMark == 7 && change.replacesPeers && change.privateKey != nil)
    #expect(
      change.peers.map(\.publicKey) == device.peers.map(\.publicKey.bytes) && change.peers[0].allowedIPs == device.peers[0].allowedIPs)
    #expect(change.peers[0].endpoint?.address == IPAddress("2001:db8::1") && change.peers[0].persistentKeepalive == 25)
    #expect(try UAPICall(Array(UAPIRequest.get.utf8)) == .get(peers: []))
    let keys = [uapiKey(1), uapiKey(8)]
    #expect(try UAPICall(Array(UAPIRequest.get(keys).utf8)) == .get(peers: keys.map(\.bytes)))
  }
}
