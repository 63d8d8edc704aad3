import NetworkTypes
import WireGuardEngine

// Two devices in memory: a packet from one to the other, with the handshake that it needs.
let now = EngineTime(moment: Moment(nanoseconds: 1_000_000_000), wallSeconds: 1_700_000_000, wallNanoseconds: 0)
let (ourKey, theirKey) = (PrivateKey(), PrivateKey())
let (ours, theirs) = (Device(privateKey: ourKey, at: now), Device(privateKey: theirKey, at: now))
guard let here = DatagramAddress("192.0.2.1:51820"), let there = DatagramAddress("[2001:db8::2]:51820"),
  let left = IPPrefix("10.0.0.1/32"), let right = IPPrefix("10.0.0.2/32")
else { fatalError("these are addresses") }
_ = theirs.setPeers([PeerSettings(publicKey: ourKey.publicKey, allowedIPs: [left])], at: now)
_ = ours.setPeers([PeerSettings(publicKey: theirKey.publicKey, endpoint: there, allowedIPs: [right])], at: now)

// An IPv4 packet of 28 bytes from 10.0.0.1 to 10.0.0.2. It waits in the device until the session is there.
let packet: [UInt8] = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 7, 0, 8, 0, 0]
var work = ours.send(packet, at: now).map { (sender: ours, output: $0) }
while !work.isEmpty {
  let (sender, output) = work.removeFirst()
  switch output {
  case .datagram(let bytes, _):
    print("\(sender === ours ? "→" : "←") a datagram of \(bytes.count) bytes, type \(bytes[0])")
    let receiver = sender === ours ? theirs : ours
    work += receiver.receive(bytes, from: sender === ours ? here : there, at: now).map { (receiver, $0) }
  case .packet(let bytes, let peer):
    print("delivered \(bytes.count) bytes, unchanged: \(bytes == packet), from the right peer: \(peer == ourKey.publicKey)")
  }
}
print("handshakes: \(ours.peers.filter { $0.lastHandshake != nil }.count) and \(theirs.peers.filter { $0.lastHandshake != nil }.count)")
