package import NetworkTypes
package import RoamwardProvider

/// The WireGuard engine below the provider.
package protocol ClientEngine: AnyObject {
  init(host: ProviderHost)
  /// Begins what does not need the tunnel's device, which the agent makes meanwhile.
  func prepare()
  /// Starts it on the tunnel's device. `ended` is called later, and once. Returns the reason why it cannot be started.
  func start(on interface: String, ended: @escaping () -> Void) -> EngineTrouble?
  /// Sends a request of the userspace protocol (wireguard.com/xplatform), whose answer does not count.
  func configure(_ request: String)
  /// Takes what is sent to this address through the tunnel, at the port of pushed settings. Returns why that is not possible.
  func listen(at address: IPAddress, _ take: @escaping ([UInt8]) -> Void) -> EngineTrouble?
  /// Sends a datagram to the gateway's address through the tunnel, from and to the port of pushed settings. After any, empty ones too, a
  /// firewall of this machine lets the gateway's in.
  func send(_ datagram: [UInt8], to gateway: IPAddress)
  /// The clock of its handshakes, in nanoseconds since 1970.
  var clock: UInt64 { get }
  /// Calls back later with its state; `nil` if it gives none.
  func read(_ then: @escaping (EngineReading?) -> Void)
  /// Opens a port of this machine for the engine, which sends from the port `engine`; `nil` if that is not possible.
  func openPort(from engine: UInt16, _ take: @escaping ([[UInt8]]) -> Void) -> (any EnginePort)?
  /// Ends it.
  func stop()
}

/// A port of this machine that stands for the gateway: what the engine sends to it goes another way.
package protocol EnginePort: AnyObject {
  /// The endpoint to which the engine sends.
  var endpoint: Endpoint { get }
  /// Gives datagrams to the engine.
  func deliver(_ datagrams: [[UInt8]])
  /// Stops and continues taking: datagrams wait in the port, which loses them when it is full.
  func pause()
  func resume()
  func close()
}

/// The reason why the engine does not start.
package struct EngineTrouble: Error, Equatable, Sendable {
  package let text: String
  /// Whether another program has the device, such as the agent for the moment in which it hands it over.
  package let isBusy: Bool

  package init(_ text: String, isBusy: Bool = false) {
    self.text = text
    self.isBusy = isBusy
  }
}

/// The state of the engine's peer that has the tunnel's packets, and the handshakes of the others, which are only probed.
package struct EngineReading: Equatable, Sendable {
  /// Whether there was a handshake since the peer was added.
  package var hasHandshake: Bool { handshake > 0 }
  /// The time of the last handshake, in nanoseconds since 1970; 0: there was none.
  package var handshake: UInt64
  package var received: UInt64
  package var sent: UInt64
  /// Its UDP port; 0: it has none yet.
  package var port: UInt16 = 0
  /// The times of the last handshakes of the other peers, by their keys in hexadecimal.
  package var others: [String: UInt64] = [:]

  package init(handshake: UInt64 = 0, received: UInt64 = 0, sent: UInt64 = 0) {
    self.handshake = handshake
    self.received = received
    self.sent = sent
  }

  /// Reads an answer to `get=1`; `nil` if it is an error.
  init?(_ answer: String) {
    self.init()
    var peer = Peer()
    for line in answer.split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1)
      guard parts.count == 2 else { continue }
      switch parts[0] {
      case "public_key":
        take(peer)
        peer = Peer(key: String(parts[1]))
      case "allowed_ip": peer.hasPackets = true
      default: break
      }
      guard let number = UInt64(parts[1]) else { continue }
      switch parts[0] {
      case "last_handshake_time_sec": peer.handshake &+= number &* 1_000_000_000
      case "last_handshake_time_nsec": peer.handshake &+= number
      case "listen_port": port = UInt16(clamping: number)
      case "rx_bytes": peer.received = number
      case "tx_bytes": peer.sent = number
      case "errno" where number != 0: return nil
      default: break
      }
    }
    take(peer)
  }

  private struct Peer {
    var key = ""
    var hasPackets = false
    var handshake: UInt64 = 0
    var received: UInt64 = 0
    var sent: UInt64 = 0
  }

  /// The lines of a peer follow its key.
  private mutating func take(_ peer: Peer) {
    if peer.hasPackets {
      (handshake, received, sent) = (peer.handshake, peer.received, peer.sent)
    } else if !peer.key.isEmpty {
      others[peer.key] = peer.handshake
    }
  }
}

/// Requests of the userspace protocol.
enum EngineRequest {
  static let read = "get=1\n\n"

  /// The device with its one peer, whose sessions begin again. A keepalive makes the first handshake.
  static func connect(_ key: DeviceKey, to gateway: [UInt8], at endpoint: Endpoint, keepalive: UInt16) -> String {
    "set=1\nprivate_key=\(hex(key.secret))\nreplace_peers=true\npublic_key=\(hex(gateway))\nendpoint=\(endpoint)\n"
      + "persistent_keepalive_interval=\(keepalive)\nreplace_allowed_ips=true\nallowed_ip=0.0.0.0/0\nallowed_ip=::/0\n\n"
  }

  static func keepalive(_ seconds: UInt16, of gateway: [UInt8]) -> String {
    "set=1\npublic_key=\(hex(gateway))\nupdate_only=true\npersistent_keepalive_interval=\(seconds)\n\n"
  }

  /// Sends to another address in the session that is there.
  static func move(to endpoint: Endpoint, of gateway: [UInt8], keepalive: UInt16) -> String {
    "set=1\npublic_key=\(hex(gateway))\nupdate_only=true\nendpoint=\(endpoint)\npersistent_keepalive_interval=\(keepalive)\n\n"
  }

  /// Sends an initiation to an address, and goes on as before.
  static func probe(_ endpoint: Endpoint, of gateway: [UInt8]) -> String {
    "set=1\npublic_key=\(hex(gateway))\nupdate_only=true\nprobe=\(endpoint)\n\n"
  }

  /// Sends an initiation to a gateway that gets none of the tunnel's packets.
  static func measure(_ gateway: [UInt8], at endpoint: Endpoint) -> String {
    "set=1\npublic_key=\(hex(gateway))\nendpoint=\(endpoint)\nreplace_allowed_ips=true\nprobe=\(endpoint)\n\n"
  }

  static func remove(_ gateway: [UInt8]) -> String { "set=1\npublic_key=\(hex(gateway))\nremove=true\n\n" }

  static func hex(_ bytes: [UInt8]) -> String { bytes.map(hexadecimal).joined() }
}
