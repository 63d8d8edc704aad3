import CDatagrams
import Glibc
import LinuxIO
import NetworkTypes

/// A path with a round trip of twice the delay, where the kernel has no netem: passes one client's datagrams on to the same port of a
/// server, and the server's back.
func relay(_ address: IPAddress, port: UInt16, to server: IPAddress, after delay: Duration) throws {
  struct Waiting {
    let due: Moment
    let goesOut: Bool
    let bytes: [UInt8]
  }
  let front = try bound(SOCK_DGRAM, address, port)
  let back = try bound(SOCK_DGRAM, IPAddress(v4: 0), 0)
  var client: cdatagrams_datagram?
  var waiting: [Waiting] = []
  var buffer = [UInt8](repeating: 0, count: 65_536)
  var datagram = cdatagrams_datagram()
  while true {
    var entries: [pollfd] = [front, back].map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
    // A timer may be late by a fifth of a millisecond. What comes meanwhile waits for that time longer; a conversation has nothing then.
    if let first = waiting.first {
      let rest = Int64((first.due - Moment.now) / .microseconds(1))
      if rest > 250 { usleep(UInt32(rest - 200)) }
    }
    poll(&entries, 2, waiting.isEmpty ? -1 : 0)
    for (socket, goesOut) in [(front, true), (back, false)] {
      while cdatagrams_receive(socket.number, &buffer, buffer.count, &datagram, 1) == 1 {
        if goesOut { client = datagram }
        waiting.append(Waiting(due: .now + delay, goesOut: goesOut, bytes: Array(buffer[..<Int(datagram.length)])))
      }
    }
    while let first = waiting.first, first.due <= .now {
      waiting.removeFirst()
      let length = UInt32(first.bytes.count)
      if first.goesOut {
        var out = cdatagrams_datagram(high: 0, low: server.low, offset: 0, length: length, port: port, is_v6: 0, is_invalid: 0)
        cdatagrams_send(back.number, first.bytes, &out, 1)
      } else if var target = client {
        target.offset = 0
        target.length = length
        cdatagrams_send(front.number, first.bytes, &target, 1)
      }
    }
  }
}
