import JSON
import NetworkTypes
import PlainUDP
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting
import Testing

/// The example as its author would test it: in memory, in virtual time.
@Suite struct PlainUDPTests {
  static let options: JSON = ["server": "vpn.example:9999", "address": "10.9.0.2/24", "routes": ["10.9.0.0/24"]]
  static let packet = Packet([0x45, 0, 0, 20] + [UInt8](repeating: 1, count: 16))

  static func connected() throws -> MemoryHost<PlainUDP> {
    let host = MemoryHost(PlainUDP.self)
    host.names[try #require(DomainName("vpn.example"))] = [IPAddress(v4: 0xc633_6401), IPAddress(v4: 0xc633_6402)]
    host.unreachable = [IPAddress(v4: 0xc633_6401)]
    host.start(options)
    try #require(host.sockets.count == 1)
    host.sockets[0].deliver([[1]])
    return host
  }

  @Test("connects by the second address of its server, and carries packets both ways") func packets() throws {
    let host = try Self.connected()
    #expect(host.state == .connected && host.sockets[0].remote == Endpoint("198.51.100.2:9999"))
    #expect(host.settings?.addresses.first == InterfaceAddress("10.9.0.2/24") && host.settings?.remoteAddress == IPAddress("198.51.100.2"))
    let packet = try #require(Self.packet)
    #expect(host.sockets[0].takeSent() == [[0]])
    host.flow?.deliver([packet, packet])
    #expect(host.sockets[0].takeSent() == [packet.bytes, packet.bytes])
    host.sockets[0].deliver([packet.bytes, [0x55, 1], [0x45, 0]])
    #expect(host.flow?.takeWritten() == [packet] && host.flow?.droppedPackets == 2)
  }

  @Test("a server that is silent makes it reasserting after 15 seconds, and failed after a minute") func silence() throws {
    let host = try Self.connected()
    host.advance(by: .seconds(19))
    #expect(host.state == .connected)
    host.advance(by: .seconds(1))
    #expect(host.state == .reasserting && host.reassertion == "peer-timeout")
    host.sockets[0].deliver([[1]])
    #expect(host.state == .connected)
    host.advance(by: .seconds(65))
    guard case .failed(let failure) = host.ends.first else {
      Issue.record("\(host.ends)")
      return
    }
    #expect(host.state == .idle && failure.code == "peer-timeout" && failure.help == .time && host.sockets[0].isClosed)
    host.start(Self.options)
    host.sockets[1].deliver([[1]])
    #expect(host.state == .connected && host.ends.count == 1 && host.violations.isEmpty)
  }

  @Test("a server that never answers ends the start") func never() throws {
    let host = MemoryHost(PlainUDP.self)
    host.start(["server": "192.0.2.1:9", "address": "10.9.0.2/24"])
    host.advance(by: .seconds(70))
    #expect(host.ends.count == 1 && host.state != .connected && host.flow == nil)
  }

  @Test("wrong options, a name without address, refused settings: each ends the start with its reason") func refusals() throws {
    let host = MemoryHost(PlainUDP.self)
    host.start(["server": "x"])
    host.start(Self.options)
    host.settingsRefusal = Refusal(code: "policy", text: "no")
    host.start(["server": "192.0.2.1:9", "address": "10.9.0.2/24"])
    host.sockets[0].deliver([[1]])
    let codes = host.ends.map { if case .failed(let failure) = $0 { failure.code } else { Word("none") } }
    #expect(codes == ["invalid-options", "unresolved", "policy"] && host.violations.isEmpty)
  }

  @Test("a message is answered while it runs and while it does not; another type is refused") func messages() throws {
    let idle = MemoryHost(PlainUDP.self)
    let first = idle.send(.typed("statistics", .null))
    #expect(idle.replies[first] == .success(.typed("statistics", ["connected": false, "dropped": 0])))
    let host = try Self.connected()
    let (second, third) = (host.send(.typed("statistics", .null)), host.send(.bytes([1])))
    #expect(host.replies[second] == .success(.typed("statistics", ["connected": true, "dropped": 0])))
    guard case .failure(let refusal) = host.replies[third] else {
      Issue.record("no refusal")
      return
    }
    #expect(refusal.code == "unknown-type")
  }

  @Test("another network gets another socket, and packets pass there at once") func roams() throws {
    let host = try Self.connected()
    host.networkChanged(nil)
    #expect(host.sockets.count == 1)
    host.networkChanged(NetworkPath(interface: "wwan0", kind: .cellular))
    #expect(host.sockets.count == 2 && host.sockets[0].isClosed && host.sockets[1].remote == host.sockets[0].remote)
    #expect(host.sockets[1].takeSent() == [[0]])
    host.sockets[1].deliver([[1]])
    #expect(host.state == .connected && host.violations.isEmpty)
    host.advance(by: .seconds(20))
    #expect(host.state == .reasserting)
  }

  @Test("it stops, sleeps and starts again") func lifetime() throws {
    let host = try Self.connected()
    host.sleep()
    host.wake()
    host.networkChanged(nil)
    host.networkChanged(MemoryHost<PlainUDP>.network)
    #expect(host.sleeps == [true] && host.state == .connected)
    host.stop()
    #expect(host.ends == [.stopped(inTime: true)] && host.state == .idle && host.sockets[0].isClosed)
  }
}
