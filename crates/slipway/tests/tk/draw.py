"""Draws through tkinter, always to the same last picture; then says "ready" and stays until its
standard input ends. A second thread waits for that end, while the first serves the window."""

import sys
import threading
import tkinter

root = tkinter.Tk()
root.overrideredirect(True)
root.geometry("620x460+10+10")
canvas = tkinter.Canvas(root, width=620, height=460, background="#203040", highlightthickness=0)
canvas.pack()
root.wait_visibility()

image = tkinter.PhotoImage(width=256, height=256)
for turn in range(4):
    rows = (
        "{" + " ".join(f"#{x:02x}{y:02x}{(x ^ y ^ (turn * 60)) & 255:02x}" for x in range(256)) + "}"
        for y in range(256)
    )
    image.put(" ".join(rows))
    root.update()
half = image.subsample(2)
canvas.create_image(16, 16, image=image, anchor="nw")
for at in range(5):
    canvas.create_image(280 + at * 40, 16 + at * 40, image=half, anchor="nw")

points = [canvas.create_oval(x, 300, x + 8, 308, fill="yellow") for x in range(0, 600, 12)]
for step in range(80):
    for number, point in enumerate(points):
        canvas.move(point, 0, 1 if number % 2 else 0.5)
    root.update()
for line in range(12):
    canvas.create_text(300, 320 + line * 11, text=f"the lazy dog, line {line}", fill="white", font=("Helvetica", -12))
for x in range(0, 620, 20):
    canvas.create_line(x, 460, 620 - x, 300, fill="#80ff80", dash=(4, 2))
root.update()
# A reply comes only after all that was sent before.
root.winfo_pointerxy()
print("ready", flush=True)


def until_the_end():
    sys.stdin.read()
    root.after(0, root.destroy)


threading.Thread(target=until_the_end, daemon=True).start()
root.mainloop()
