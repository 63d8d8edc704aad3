internal import ConfinedProcess
internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol

/// Runs scripts of proxies for `roamward proxy`, in a process without privileges and with limits of time and memory.
package enum ScriptEvaluation {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  private static let patience = Duration.seconds(5)

  /// The script that is served at the address of proxies now.
  package static func servedScript() throws(Failure) -> [UInt8] {
    do throws(SystemError) {
      let bytes = try get()
      guard bytes.starts(with: "HTTP/1.1 200 ".utf8), let body = body(of: bytes) else {
        throw SystemError(code: EPROTO, operation: "read \(ProxyPublication.url)")
      }
      return body
    } catch { throw Failure(description: "\(ProxyPublication.url) does not answer: \(error.reason)") }
  }

  /// The result of the script for a URL with this host, such as `PROXY 10.0.0.80:3128; DIRECT`.
  package static func run(_ script: [UInt8], url: String, host: String) throws(Failure) -> String {
    do throws(SystemError) {
      let process = try ConfinedProcess(ProxyPublisher.program, on: nil)
      try process.channel.send(ProxyOrder.evaluate.bytes)
      for order in ProxyOrder.parts(of: script) { try send(order, process.channel) }
      try send(.find(url: url, host: host, ownAddress: "127.0.0.1"), process.channel)
      while process.channel.wait(atMost: patience), case .message(let bytes, _) = try process.channel.receive() {
        switch try? ProxyReport(bytes) {
        case .hello(nil)?: continue
        case .hello(let trouble?)?: throw SystemError(code: ENOSYS, operation: trouble)
        case .result(let result?)?: return result
        case .result(nil)?: throw SystemError(code: EINVAL, operation: "the script has an error, or no FindProxyForURL")
        case .done?, nil: throw SystemError(code: EPROTO, operation: "\(ProxyPublisher.program) says what it may not")
        }
      }
      throw SystemError(code: ETIME, operation: "the script does not end within its limits of time and memory")
    } catch {
      throw Failure(description: [ENOSYS, EINVAL, ETIME].contains(error.code) ? error.operation : error.description)
    }
  }

  /// The process takes each message at once.
  private static func send(_ order: ProxyOrder, _ channel: MessageChannel) throws(SystemError) {
    var tries = 0
    while true {
      do throws(SystemError) { return try channel.send(order.bytes) } catch {
        guard error.code == EAGAIN, tries < 500 else { throw error }
      }
      tries += 1
      poll(nil, 0, 10)
    }
  }

  private static func get() throws(SystemError) -> [UInt8] {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw .last("make a socket") }
    let file = FileDescriptor(owning: number)
    var limit = timeval(tv_sec: 2, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] { setsockopt(number, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size)) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = ProxyPublication.port.bigEndian
    address.sin_addr.s_addr = UInt32(truncatingIfNeeded: ProxyPublication.address.low).bigEndian
    let result = withUnsafeBytes(of: &address) { bytes in
      bytes.baseAddress.map { connect(number, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
    }
    guard result == 0 else { throw .last("connect") }
    let request = "GET /proxy.pac HTTP/1.1\r\nHost: \(ProxyPublication.address):\(ProxyPublication.port)\r\n\r\n"
    _ = try file.write(Array(request.utf8)[...])
    var bytes: [UInt8] = []
    while let part = try file.read(), !part.isEmpty, bytes.count <= ProxyLimits.script + 4096 { bytes += part }
    return bytes
  }

  private static func body(of bytes: [UInt8]) -> [UInt8]? {
    bytes.firstRange(of: "\r\n\r\n".utf8).map { Array(bytes[$0.upperBound...]) }
  }
}
