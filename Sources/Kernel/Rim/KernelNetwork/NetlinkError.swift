internal import CNetlink
internal import Glibc
internal import LinuxIO
import Wire

/// A failure of the kernel: the request, the reason, and the kernel's own text if there is one.
package struct NetlinkError: Error, Equatable, Sendable, CustomStringConvertible {
  /// A positive number of errno(3).
  package let code: Int32
  /// The request, as an administrator would type or name it.
  package let what: String
  /// The kernel's extended acknowledgement, or our own explanation.
  package let kernelText: String?

  package init(code: Int32, what: String, kernelText: String? = nil) {
    self.code = code
    self.what = what
    self.kernelText = kernelText
  }

  init(_ answer: NetlinkAcknowledgement, what: String) { self.init(code: answer.code, what: what, kernelText: answer.text) }

  /// Converts the negative `NLE_*` of libnl. libnl loses the number of errno(3) if it has no code of its own for it: then `system` has it.
  init(libnl result: Int32, what: String, system: Int32 = 0) {
    if -result == NLE_FAILURE, system != 0 {
      self.init(code: system, what: what)
      return
    }
    let code =
      switch -result {
      case NLE_INTR, NLE_DUMP_INTR: EINTR
      case NLE_AGAIN: EAGAIN
      // recvmsg's ENOBUFS arrives as this code.
      case NLE_NOMEM: ENOBUFS
      case NLE_OBJ_NOTFOUND: ENOENT
      case NLE_MSG_TRUNC, NLE_MSGSIZE: EMSGSIZE
      case NLE_NOACCESS: EACCES
      case NLE_PERM: EPERM
      case NLE_BUSY: EBUSY
      case NLE_NODEV: ENODEV
      case NLE_OPNOTSUPP: EOPNOTSUPP
      default: EIO
      }
    self.init(code: code, what: what, kernelText: nl_geterror(result).map { String(cString: $0) })
  }

  static func last(_ what: String) -> NetlinkError { NetlinkError(code: errno, what: what) }

  /// Whether another read may succeed: the tables changed during the dump, or an answer was lost.
  package var isTransient: Bool { [EINTR, ENOBUFS, EAGAIN, EBUSY, EBADMSG].contains(code) }

  package var description: String { "\(what): \(reason)" }

  /// The reason without the request: the C library's text, and the kernel's if there is one.
  package var reason: String { SystemError.words(code) + (kernelText.map { " (\($0))" } ?? "") }
}
