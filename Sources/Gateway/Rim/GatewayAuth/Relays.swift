internal import CLinux
internal import GatewayCore
internal import GatewayLogin
internal import Glibc
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes

/// Connections that carry datagrams of WireGuard between clients and the gateway's own UDP port, for networks that let no UDP pass.
///
/// Its UDP sockets are opened and connected to that port before the process is confined, and are used again and again: the process can
/// neither make a socket nor connect one elsewhere.
final class Relays {
  private final class Relay {
    let file: FileDescriptor
    let connection: TLSConnection
    /// Connected to WireGuard.
    let socket: FileDescriptor
    var stream = RelayStream()
    /// For the client. While there is something, nothing is read from WireGuard, whose datagrams are lost then, as in any full queue.
    var unsent: [UInt8] = []
    var outer: DescriptorLoop.Source?
    var inner: DescriptorLoop.Source?
    var isWriting = false

    init(_ file: FileDescriptor, _ connection: TLSConnection, _ socket: FileDescriptor) {
      self.file = file
      self.connection = connection
      self.socket = socket
    }
  }

  /// Datagrams that are read at once.
  private static let batch = 16
  /// The most bytes of one record of TLS.
  private static let record = 16_384

  private let loop: DescriptorLoop
  private var table = RelayTable()
  private var relays: [UInt32: Relay] = [:]
  /// Sockets without a relay: the one that was used last comes last.
  private var free: [FileDescriptor] = []
  private var alarm: DescriptorLoop.Source?

  /// `port`: of WireGuard, at this machine's loopback address.
  init(to port: UInt16, on loop: DescriptorLoop) throws(SystemError) {
    self.loop = loop
    for number in 1...RelayTable.capacity { free.append(try Self.socket(RelayAddress.address(number), to: port)) }
  }

  func contains(_ number: UInt32) -> Bool { relays[number] != nil }

  /// Takes over a connection; `false` if there are too many.
  func begin(_ number: UInt32, _ file: FileDescriptor, _ connection: TLSConnection, from address: IPAddress) -> Bool {
    guard table.open(number, from: address, at: .now) else { return false }
    endGone()
    guard !free.isEmpty else {
      table.close(number)
      return false
    }
    let relay = Relay(file, connection, free.removeFirst())
    Self.drain(relay.socket)
    relays[number] = relay
    if connection.send(GatewayMessage.relaying(version: RelayTable.version).frame.bytes) { flush(number) } else { end(number) }
    if alarm == nil { setAlarm() }
    return true
  }

  // MARK: From the client

  private func receive(_ number: UInt32) {
    guard let relay = relays[number] else { return }
    do {
      guard let bytes = try relay.file.read(atMost: Self.record) else { return }
      guard !bytes.isEmpty, let plain = relay.connection.receive(bytes) else { return end(number) }
      table.heard(number, at: .now)
      // A datagram that WireGuard's socket does not take is lost, as on any way.
      for datagram in try relay.stream.receive(plain) { _ = try? relay.socket.write(datagram[...]) }
      flush(number)
    } catch {
      end(number)
    }
  }

  // MARK: From WireGuard

  private func answer(_ number: UInt32) {
    guard let relay = relays[number] else { return }
    var plain: [UInt8] = []
    for _ in 0..<Self.batch {
      guard let datagram = try? relay.socket.read(atMost: RelayFrame.lengths.upperBound + 1), !datagram.isEmpty else { break }
      guard let kind = RelayFrame.Kind(datagram) else { continue }
      table.answered(number, by: kind)
      endGone()
      RelayFrame.append(datagram, to: &plain)
    }
    for start in stride(from: 0, to: plain.count, by: Self.record) {
      guard relay.connection.send(Array(plain[start..<min(plain.count, start + Self.record)])) else { return end(number) }
    }
    flush(number)
  }

  // MARK: To the client

  private func flush(_ number: UInt32) {
    guard let relay = relays[number] else { return }
    relay.unsent += relay.connection.takeOutput()
    var sent = 0
    do throws(SystemError) {
      while sent < relay.unsent.count {
        let count = try relay.file.write(relay.unsent[sent...])
        if count == 0 { break }
        sent += count
      }
    } catch {
      return end(number)
    }
    relay.unsent.removeFirst(sent)
    table.waits(number, !relay.unsent.isEmpty, progress: sent > 0, at: .now)
    watch(relay, number)
  }

  private func watch(_ relay: Relay, _ number: UInt32) {
    let isFull = !relay.unsent.isEmpty
    if relay.outer == nil || relay.isWriting != isFull {
      // One source at a time for a descriptor.
      relay.outer = nil
      relay.isWriting = isFull
      let events = clinux_readable | (isFull ? clinux_writable : 0)
      relay.outer = try? loop.whenReady(relay.file.number, events: events) { [weak self] ready in
        if ready & clinux_writable != 0 { self?.flush(number) }
        if ready & ~clinux_writable != 0 { self?.receive(number) }
      }
    }
    if isFull {
      relay.inner = nil
    } else if relay.inner == nil {
      relay.inner = try? loop.whenReadable(relay.socket.number) { [weak self] in self?.answer(number) }
    }
    if relay.outer == nil || !isFull && relay.inner == nil { end(number) }
  }

  // MARK: The end

  /// Those that went for others.
  private func endGone() { for number in table.takeGone() { end(number) } }

  private func end(_ number: UInt32) {
    guard let relay = relays.removeValue(forKey: number) else { return }
    (relay.outer, relay.inner) = (nil, nil)
    table.close(number)
    relay.connection.end()
    if relay.unsent.isEmpty { _ = try? relay.file.write(relay.connection.takeOutput()[...]) }
    Self.drain(relay.socket)
    free.append(relay.socket)
  }

  private func setAlarm() {
    alarm = try? loop.at(.now + RelayTable.interval) { [weak self] in
      guard let self else { return }
      for number in table.expired(at: .now) { end(number) }
      alarm = nil
      if !relays.isEmpty { setAlarm() }
    }
  }

  // MARK: Sockets

  private static func socket(_ address: [UInt8], to port: UInt16) throws(SystemError) -> FileDescriptor {
    let number = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw .last("make a UDP socket") }
    let file = FileDescriptor(owning: number)
    guard use(number, address, port: 0, with: bind) == 0 else { throw .last("bind to a loopback address") }
    guard use(number, [127, 0, 0, 1], port: port, with: connect) == 0 else { throw .last("connect to UDP port \(port)") }
    return file
  }

  private static func use(
    _ number: Int32, _ address: [UInt8], port: UInt16, with call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    withUnsafeMutableBytes(of: &name.sin_addr) { $0.copyBytes(from: address) }
    return withUnsafePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  /// Removes what was meant for the relay before.
  private static func drain(_ socket: FileDescriptor) {
    for _ in 0..<1024 {
      guard let datagram = try? socket.read(atMost: 1), !datagram.isEmpty else { return }
    }
  }
}
