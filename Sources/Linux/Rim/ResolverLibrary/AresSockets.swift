package import CAres
internal import Glibc
package import LinuxIO
package import NetworkTypes

/// The sockets of a channel of c-ares, and its next timer, on our loop. c-ares is only called from the loop.
package final class AresSockets {
  private let loop: DescriptorLoop
  private var sockets: [ares_socket_t: DescriptorLoop.Source] = [:]
  private var wake: DescriptorLoop.Source?
  /// Called from the loop, to hand these to `ares_process_fd`; -1: none.
  package var process: (_ readable: ares_socket_t, _ writable: ares_socket_t) -> Void = { _, _ in }

  package init(on loop: DescriptorLoop) { self.loop = loop }

  /// Watches a socket for the events that c-ares waits for (`ares_sock_state_cb`); for none, the watch ends.
  package func watch(_ socket: ares_socket_t, _ readable: Bool, _ writable: Bool) {
    // The source ends at once, possibly during its callback: c-ares closes the socket next, or wants other events of it.
    sockets.removeValue(forKey: socket)?.cancel()
    guard readable || writable else { return }
    let events = (readable ? Readiness.readable : 0) | (writable ? Readiness.writable : 0)
    sockets[socket] = try? loop.whenReady(socket, events: events) { [weak self] bits in
      // An error has to be read from the socket to be cleared.
      let canRead = bits & (Readiness.readable | Readiness.ended) != 0
      self?.process(canRead ? socket : ares_socket_t(-1), bits & Readiness.writable != 0 ? socket : ares_socket_t(-1))
    }
  }

  /// Sets the timer to the next time-out of c-ares.
  package func pace(_ channel: ares_channel?) {
    var time = timeval()
    guard ares_timeout(channel, nil, &time) != nil else { return rest() }
    // Its clock and ours may differ in the last digit: an additional millisecond prevents a busy loop.
    let wait = Duration.seconds(time.tv_sec) + .microseconds(time.tv_usec) + .milliseconds(1)
    wake = try? loop.at(.now + wait) { [weak self] in self?.process(ares_socket_t(-1), ares_socket_t(-1)) }
  }

  /// Ends the timer.
  package func rest() { wake = nil }
}

/// The addresses that a look-up has found, each once, `limit` at most.
package func addresses(of found: UnsafeMutablePointer<ares_addrinfo>?, limit: Int) -> [IPAddress] {
  var addresses: [IPAddress] = []
  var node = found?.pointee.nodes
  while let current = node, addresses.count < limit {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = roamward_ares_address(current, &bytes)
    if let address = IPAddress(bytes: bytes.prefix(Int(count))), !addresses.contains(address) { addresses.append(address) }
    node = current.pointee.ai_next
  }
  return addresses
}

/// c-ares's words for a status.
package func words(ofAres status: Int32) -> String { ares_strerror(status).map { String(cString: $0) } ?? "error \(status)" }
