// What would happen if a load came, lasted and went: a sentence, and charts over the time of the simulator.

import { Charts } from "./charts.js";
import { seconds } from "./texts.js";

const PANELS = [
  {
    title: "Delay of answers if it came now, seconds",
    series: [
      ["delay", "late", (row) => row.delay_seconds],
      ["goal", "gray", (_, goal) => goal, [6, 4]],
    ],
  },
  { title: "Kept if it came now, percent", series: [["rows and windows", "blue", (row) => 100 * row.kept_share]] },
];

export class Course {
  constructor(sentence, place) {
    this.sentence = sentence;
    this.charts = new Charts(place, PANELS, { axis: "seconds after it came", isTimed: false, height: 150 });
  }

  forget() {
    this.sentence.textContent = "";
    this.charts.forget();
  }

  show(course) {
    this.sentence.textContent = `${this.lasting(course)}: ${this.delay(course)}; ${this.whole(course)}.`;
    const figures = course.micro_batches.map((row) => ({
      ...row,
      started_at_seconds: row.started_at_seconds - course.load_from_seconds,
    }));
    this.charts.show(figures, course.delay_goal_seconds);
  }

  lasting(course) {
    const lasts = seconds(course.load_until_seconds - course.load_from_seconds);
    if (course.end_seconds >= course.load_until_seconds) return `If it came now for ${lasts}`;
    const shown = seconds(Math.max(0, course.end_seconds - course.load_from_seconds));
    return `If it came now, the first ${shown} of ${lasts}, for more there was no time to simulate`;
  }

  delay(course) {
    const [worst, goal] = [course.worst_delay_seconds, course.delay_goal_seconds].map(seconds);
    const since = course.within_goal_from_seconds;
    if (since === course.micro_batches[0].started_at_seconds) return `delay reaches ${worst} of a goal of ${goal}`;
    const again = since === null ? "it is over it at the end" : `it is within it again ${this.at(course, since)}`;
    return `delay reaches ${worst}, the goal is ${goal}, and ${again}`;
  }

  whole(course) {
    const since = course.whole_from_seconds;
    if (since === null) return "something is shed until the end";
    if (since === course.micro_batches[0].started_at_seconds) return "nothing is shed";
    return `all is kept again ${this.at(course, since)}`;
  }

  at(course, instant) {
    const { load_from_seconds: from, load_until_seconds: until } = course;
    return instant < until ? `${seconds(instant - from)} after it came` : `${seconds(instant - until)} after it has gone`;
  }
}
