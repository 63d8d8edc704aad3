import CDatagrams
import Glibc
import LinuxIO
import NetworkTypes

/// Asks for the A records of a name until an answer has some. Prints the milliseconds from the first question to that answer.
///
/// - Parameter repeating: the milliseconds after which the question is asked again.
/// - Parameter mark: the mark of its packets (SO_MARK); 0: none.
func ask(_ server: IPAddress, name: String, repeating: Int32, mark: UInt32) throws {
  let socket = try bound(SOCK_DGRAM, IPAddress(v4: 0), 0)
  var mark = mark
  guard mark == 0 || setsockopt(socket.number, SOL_SOCKET, SO_MARK, &mark, 4) == 0 else { throw SystemError.last("set a mark") }
  let id = UInt16.random(in: .min ... .max)
  var question: [UInt8] = [UInt8(id >> 8), UInt8(id & 0xff), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
  for label in name.split(separator: ".") { question += [UInt8(label.utf8.count)] + Array(label.utf8) }
  question += [0, 0, 1, 0, 1]
  var buffer = [UInt8](repeating: 0, count: 4096)
  var datagram = cdatagrams_datagram()
  let began = Moment.now
  var next = began
  while true {
    let now = Moment.now
    if now - began > .seconds(60) { throw Failure(description: "no answer for \(name)") }
    if now >= next {
      next = now + .milliseconds(Int64(repeating))
      datagram = cdatagrams_datagram(
        high: 0, low: server.low, offset: 0, length: UInt32(question.count), port: 53, is_v6: 0, is_invalid: 0)
      // While the network is being changed it may not be reached: the next one may.
      _ = cdatagrams_send(socket.number, question, &datagram, 1)
    }
    var entry = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
    poll(&entry, 1, max(1, Int32((next - now) / .milliseconds(1))))
    guard cdatagrams_receive(socket.number, &buffer, buffer.count, &datagram, 1) == 1, datagram.length >= 12,
      buffer[0] == question[0], buffer[1] == question[1], buffer[3] & 0x0f == 0, buffer[6] != 0 || buffer[7] != 0
    else { continue }
    print((Moment.now - began) / .milliseconds(1))
    return
  }
}
