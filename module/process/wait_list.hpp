#pragma once

#include <cstddef>

namespace tollgate {

/// A place in a WaitList<T>, which T inherits. Leaves the list when it is destroyed.
template <typename T>
class WaitLink {
  public:
    WaitLink() = default;
    ~WaitLink() {
        if (is_in_list()) {
            leave_list();
        }
    }
    WaitLink(const WaitLink&) = delete;
    WaitLink& operator=(const WaitLink&) = delete;

    bool is_in_list() const noexcept { return next_ != this; }
    void leave_list() noexcept {
        previous_->next_ = next_;
        next_->previous_ = previous_;
        previous_ = next_ = this;
    }

  private:
    template <typename>
    friend class WaitList;

    WaitLink* previous_ = this;
    WaitLink* next_ = this;
};

/// Waiters in the order in which they came. The list does not own them and allocates nothing. A
/// waiter may leave, or be destroyed, at any time.
template <typename T>
class WaitList {
  public:
    WaitList() = default;
    /// Every waiter leaves.
    ~WaitList() {
        while (!empty()) {
            front().leave_list();
        }
    }
    WaitList(WaitList&& other) noexcept { append(other); }
    WaitList(const WaitList&) = delete;
    WaitList& operator=(WaitList&&) = delete;
    WaitList& operator=(const WaitList&) = delete;

    bool empty() const noexcept { return !head_.is_in_list(); }
    /// The first waiter. The list must not be empty.
    T& front() const noexcept { return static_cast<T&>(*head_.next_); }

    void push(T& waiter) noexcept {
        WaitLink<T>& link = waiter;
        link.leave_list();
        link.previous_ = head_.previous_;
        link.next_ = &head_;
        head_.previous_->next_ = &link;
        head_.previous_ = &link;
    }

    /// Moves all waiters of another list behind its own.
    void append(WaitList& other) noexcept {
        while (!other.empty()) {
            push(other.front());
        }
    }

    std::size_t size() const noexcept {
        std::size_t size = 0;
        for (const WaitLink<T>* link = head_.next_; link != &head_; link = link->next_) {
            ++size;
        }
        return size;
    }

    /// Takes each waiter out of the list and calls `use` with it. The waiter may enter a list
    /// again.
    template <typename Use>
    void drain(Use use) {
        while (!empty()) {
            T& waiter = front();
            static_cast<WaitLink<T>&>(waiter).leave_list();
            use(waiter);
        }
    }

  private:
    WaitLink<T> head_;
};

}  // namespace tollgate
