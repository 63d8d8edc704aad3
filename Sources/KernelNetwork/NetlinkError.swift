internal import CNetlink
internal import Glibc
internal import LinuxIO
import Wire

/// Something the kernel did not do: what was asked of it, why not, and in its own words where it has any.
package struct NetlinkError: Error, Hashable, Sendable, CustomStringConvertible {
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

  /// From the negative `NLE_*` that libnl returns, which has lost the number of errno(3) where it knows no word of its
  /// own for it: then `system` is it.
  init(libnl result: Int32, what: String, system: Int32 = 0) {
    if -result == NLE_FAILURE, system != 0 {
      self.init(code: system, what: what)
      return
    }
    let code =
      switch -result {
      case NLE_INTR, NLE_DUMP_INTR: EINTR
      case NLE_AGAIN: EAGAIN
      // recvmsg's ENOBUFS arrives as this.
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

  /// Whether reading again may help: the tables changed under the dump, or an answer got lost.
  package var isTransient: Bool { [EINTR, ENOBUFS, EAGAIN, EBUSY, EBADMSG].contains(code) }

  package var description: String { "\(what): \(reason)" }

  /// Why, without what was attempted: the C library's words, and the kernel's where it has some.
  package var reason: String { SystemError.words(code) + (kernelText.map { " (\($0))" } ?? "") }
}
